"""What one of two workers does to compare the exported units with ``fully_shard`` as it is."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard import _fsdp_param_group
from torch.distributed.tensor import DTensor

from solver.costs import Affine, alike
from solver.exports import EXPORTS, ExplicitPlan
from solver.models.layers import Layer
from solver.models.parallel import fsdp
from solver.planning.explicit import ExplicitBucket, ExplicitPart
from tests.torch.workers import go_through

COUNT = 6
#: The units that a plan sends together.
GROUPS = [[0, 1], [2], [3, 4], [5]]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers = (nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(COUNT))
        self.layers = nn.ModuleList(layers)

    def forward(self, hidden):
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


def of_layers() -> nn.Module:
    torch.manual_seed(7)
    return Model()


def exported(folder: Path, startup_us: float, names: list[str]) -> dict[str, Any]:
    """Export a plan that sends GROUPS, and run the file; its units are beside it."""
    layers = [Layer(name, 10.0, 20.0, ((name, 4 * 272),)) for name in names]
    graph = fsdp("model", layers, limit=100)  # memory for units that are joined
    buckets = []
    for kind, places in (("gather", GROUPS), ("regather", GROUPS[:-1]), ("scatter", GROUPS)):
        buckets += [tuple(f"{kind}:{names[i]}" for i in group) for group in places]
    explicit = [ExplicitBucket(f"b{k}", bucket) for k, bucket in enumerate(buckets)]
    parts = [ExplicitPart(b.id, len(b.tensors) * 4 * 272) for b in explicit]
    forwards, agains, scatters = parts[:4], parts[4:7], parts[7:]
    order = [*forwards, *agains[::-1], *scatters[::-1]]
    plan = ExplicitPlan(tuple(explicit), tuple(order))
    found = EXPORTS["fsdp"](graph, alike(Affine(startup_us, 1e-3)), plan)
    for name, content in found.files.items():
        (folder / name).write_text(str(content))
    return runpy.run_path(str(folder / "fsdp_units.py"))


def losses(model: nn.Module, rank: int, *, accumulate: bool = False) -> list[torch.Tensor]:
    """Train some steps."""
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    found = []
    for step in range(4):
        for micro in range(2 if accumulate else 1):
            draw = torch.Generator().manual_seed(100 * step + 10 * micro + rank)
            if accumulate:
                model.set_requires_gradient_sync(micro == 1)
            loss = model(torch.randn(8, 16, generator=draw)).square().mean()
            loss.backward()
            found.append(loss.detach())
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
    return found


def layer_by_layer(model: nn.Module, **options: Any) -> nn.Module:
    """Apply fully_shard as tutorials do."""
    for layer in model.layers:
        fully_shard(layer, **options)
    return fully_shard(model, **options)


def same(ours: nn.Module, theirs: nn.Module) -> None:
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert isinstance(mine, DTensor), name
        assert torch.equal(mine.full_tensor(), other.full_tensor()), name


PATHS = [f"layers.{i}" for i in range(COUNT)]


def learns_the_same(folder: Path, rank: int) -> None:
    ours = exported(folder, 100.0, PATHS)["shard"](of_layers())
    theirs = layer_by_layer(of_layers())
    for mine, other in zip(losses(ours, rank), losses(theirs, rank), strict=True):
        assert torch.equal(mine, other)
    same(ours, theirs)


def shards_what_is_the_models_own(folder: Path, rank: int) -> None:
    """Layer 0 is of no unit but the model's own."""
    program = exported(folder, 100.0, ["", *PATHS[1:]])
    assert program["UNITS"] == [[""], [PATHS[1]], [PATHS[2]], PATHS[3:5], [PATHS[5]]]
    ours = program["shard"](of_layers())
    theirs = of_layers()
    for layer in theirs.layers[1:]:
        fully_shard(layer)
    fully_shard(theirs)
    for mine, other in zip(losses(ours, rank), losses(theirs, rank), strict=True):
        assert torch.equal(mine, other)
    same(ours, theirs)


def accumulates_the_same(folder: Path, rank: int) -> None:
    ours = exported(folder, 100.0, PATHS)["shard"](of_layers())
    theirs = layer_by_layer(of_layers())
    pairs = (losses(model, rank, accumulate=True) for model in (ours, theirs))
    for mine, other in zip(*pairs, strict=True):
        assert torch.equal(mine, other)
    same(ours, theirs)


def asks_as_it_was_told(folder: Path, rank: int) -> None:
    """What is really gathered and reduced, in which order, is what was simulated."""
    calls: list[str] = []
    gather, reduce = _fsdp_param_group.foreach_all_gather, _fsdp_param_group.foreach_reduce

    def noting(kind, call):
        def noted(parameters, *rest, **more):
            modules = {p._param_fqn.split(".")[1] for p in parameters}
            calls.append(f"{kind} {' '.join(sorted(modules))}")
            return call(parameters, *rest, **more)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fsdp_param_group, "foreach_all_gather", noting("gather", gather))
        patch.setattr(_fsdp_param_group, "foreach_reduce", noting("reduce", reduce))
        model = exported(folder, 100.0, PATHS)["shard"](of_layers())
        model(torch.ones(2, 16)).square().mean().backward()
    units = json.loads((folder / "units.json").read_text())["units"]
    names = [" ".join(m.removeprefix("layers.") for m in unit["modules"]) for unit in units]
    assert names == ["0 1", "2", "3 4", "5"]
    gathers = [call for call in calls if call.startswith("gather")]
    assert gathers == [f"gather {n}" for n in (*names, *names[-2::-1])]
    assert [c for c in calls if c.startswith("reduce")] == [f"reduce {n}" for n in names[::-1]]
    back = units[-1]["backward_prefetch"]
    assert calls.index("reduce 5") == len(names) + len(back)


def modules_by_other_names(folder: Path, rank: int) -> None:
    model = of_layers()
    names = [f"block {i}" for i in range(COUNT)]
    shard = exported(folder, 0.0, names)["shard"]
    with pytest.raises(ValueError, match=r"no modules: 'block 0', .* and 1 more; parameters in no"):
        shard(model)
    ours = shard(model, dict(zip(names, model.layers, strict=True)))
    theirs = layer_by_layer(of_layers())
    for mine, other in zip(losses(ours, rank), losses(theirs, rank), strict=True):
        assert torch.equal(mine, other)


def options_are_passed_on(folder: Path, rank: int) -> None:
    mesh = dist.init_device_mesh("cpu", (2,))
    ours = exported(folder, 0.0, PATHS)["shard"](of_layers(), mesh=mesh)
    theirs = layer_by_layer(of_layers(), mesh=mesh)
    for mine, other in zip(losses(ours, rank), losses(theirs, rank), strict=True):
        assert torch.equal(mine, other)


def parameters_of_no_or_several_units(folder: Path, rank: int) -> None:
    shard = exported(folder, 0.0, PATHS)["shard"]
    model = of_layers()
    model.head = nn.Linear(16, 2)
    with pytest.raises(ValueError, match=r"in no unit: 'head.weight', 'head.bias'\.$"):
        shard(model)
    model = of_layers()
    model.layers[5][0].weight = model.layers[0][0].weight
    with pytest.raises(ValueError, match=r"in several units: 'layers.0.0.weight'\.$"):
        shard(model)


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        learns_the_same,
        shards_what_is_the_models_own,
        accumulates_the_same,
        asks_as_it_was_told,
        modules_by_other_names,
        options_are_passed_on,
        parameters_of_no_or_several_units,
    )
}

if __name__ == "__main__":
    go_through(SCENARIOS)
