"""Two ranks that capture, plan and train again what models do in compiled graphs, and refusals.

What inductor would write in C++ are calls of PyTorch's own kernels here: compilers take most of a
minute, and what is looked at is the order of calls.
"""

from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch._inductor import config as inductor
from torch._inductor import graph as lowering
from torch._inductor.utils import run_and_get_code

from interlace_client.torch.compiled import (
    CaptureCompiled,
    Costs,
    Fabric,
    Gpu,
    PlannedPass,
    Uncapturable,
    capture_compiled,
    read_program,
    running,
)
from interlace_client.torch.compiled.written import calls_in, planned_calls
from tests.torch import compiled_networks as networks
from tests.torch.workers import go_through

#: A core of 10 GFLOP/s and 10 GB/s, a loopback of 10 Gbit/s, 100 us a launch.
COSTS = Costs(
    gpu=Gpu(0.01, 0.01, 0.01, 0.01, 10, "assumed, a core of a CPU"),
    fabric=Fabric(node_gpus=2, startup_us=100.0),
)


def only_computes(node, _of_inductor=lowering.should_fallback_by_default):
    """Tell which nodes are calls of PyTorch's kernels: what is sent stays inductor's."""
    return "c10d" not in str(node.target) and _of_inductor(node)


@dataclass(frozen=True)
class Trained:
    """What training gave: losses and gradients, and the code that inductor wrote."""

    seen: list
    codes: list


def trained(make, context, sizes=(4, 4), dynamic=None):
    """Train from the same start, a step for each size of a batch; return all that can be seen."""
    torch.compiler.reset()
    torch.manual_seed(0)
    model = make()
    compiled = torch.compile(model, dynamic=dynamic)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    seen: list[torch.Tensor] = []

    def train():
        for k, size in enumerate(sizes):
            x = torch.randn(size, networks.WIDTH, generator=torch.Generator().manual_seed(k))
            loss = compiled(x).square().mean()
            loss.backward()
            grads = [getattr(p.grad, "_local_tensor", p.grad) for p in model.parameters()]
            seen.extend(each.detach().clone() for each in (loss, *grads))
            optimizer.step()
            optimizer.zero_grad()

    without_compilers = mock.patch.object(lowering, "should_fallback_by_default", only_computes)
    with context, inductor.patch(fallback_by_default=True), without_compilers:
        codes = run_and_get_code(train)[1]
    return Trained(seen, codes)


def plans_of(graphs):
    """Plan on the first rank, as a service does, for all ranks."""
    said: list[Any] = [None]
    if dist.get_rank() == 0:
        from app.reading.requests import problem_of, read_parsed  # noqa: PLC0415 - the other rank does without
        from app.schemas.plans import PlanRequest  # noqa: PLC0415
        from app.services.plans import solve  # noqa: PLC0415

        said = [[solve(problem_of(read_parsed(graph.request, PlanRequest))) for graph in graphs]]
        said = [[answer.model_dump(mode="json") for answer in said[0]]]
    dist.broadcast_object_list(said)
    return [read_program(a, g.fingerprint) for a, g in zip(said[0], graphs, strict=True)]


def planned(make, graphs, merged, **how):
    """Train without plans and with them: the same numbers, in the plans' launches and order.

    Returns what was captured.

    Parameters
    ----------
    graphs
        Collectives of each graph that sends.
    merged
        Whether plans have fewer launches than there are collectives.
    """
    capture = CaptureCompiled("reach", COSTS)
    plain = trained(make, running(capture), **how)
    sending = capture.sending()
    found = [graph.report.collectives for graph in sending]
    assert found == graphs, found
    plans = plans_of(sending)
    compiling = PlannedPass(plans)
    after = trained(make, running(compiling), **how)
    assert len(plain.seen) == len(after.seen)
    assert all(map(torch.equal, plain.seen, after.seen))
    assert [each.plan for each in compiling.written] == plans
    assert [each.differing for each in compiling.written] == [0] * len(plans)
    calls = [each for each in map(calls_in, after.codes) if each]
    assert calls == [planned_calls(plan.steps) for plan in plans]
    launches = sum(len(plan.buckets) for plan in plans)
    assert (launches < sum(graphs)) == merged
    return capture


def weights_gathered_where_used(folder, rank):
    planned(networks.sharded, [4, 4], merged=True)


def tensor_parallel_layers(folder, rank):
    planned(networks.tensor_parallel, [2, 1], merged=False)


def experts_on_each_rank(folder, rank):
    planned(networks.experts, [4, 3], merged=False)


def checkpointed_layers(folder, rank):
    planned(networks.checkpointed, [4, 8], merged=True)


def weights_that_layers_share(folder, rank):
    planned(networks.shared_weights, [3, 4], merged=True)


def broken_graphs(folder, rank):
    planned(networks.broken, [2, 2, 2, 2], merged=True)


def gradients_averaged_in_the_backward_graph_alone(folder, rank):
    capture = planned(networks.averaged, [2], merged=True)
    forward, backward = capture.captured
    assert any("No collective is in this graph" in note for note in forward.report.notes)
    assert not any("No collective" in note for note in backward.report.notes)


def sizes_that_differ_from_call_to_call(folder, rank):
    capture = planned(networks.summed, [4, 2], merged=True, sizes=(4, 6), dynamic=True)
    notes = "\n".join(capture.captured[0].report.notes)
    assert "Sizes that differ from call to call" in notes
    assert "Sent alone, as these are not merged: 'all_reduce', 'all_reduce_1'." in notes


def a_plan_for_each_of_a_few_sizes(folder, rank):
    planned(networks.averaged, [2, 2], merged=True, sizes=(4, 6, 4), dynamic=False)


def settings_that_would_change_the_order(folder, rank):
    fighting = {
        "bucket_all_gathers_fx": "all",
        "reorder_for_compute_comm_overlap": True,
        "aten_distributed_optimizations.enable_overlap_scheduling": True,
    }
    with inductor.patch(fighting):
        capture = planned(networks.sharded, [4, 4], merged=True)
    for name, value in fighting.items():
        assert any(f"{name} was {value!r}" in line for line in capture.switched_off)
    assert set(capture.switched_off) < set(capture.captured[0].report.notes)


def units_of_fully_shard(folder, rank):
    capture = CaptureCompiled("units", COSTS)
    with pytest.warns(UserWarning, match="None of .* graphs that were captured has a collective"):
        trained(networks.units, running(capture), (4,))
    assert capture.captured
    with pytest.raises(Uncapturable, match="interlace export --format fsdp"):
        capture.sending()
    with pytest.raises(Uncapturable, match=r"'0 \(fully_shard\)', '1 \(fully_shard\)'"):
        capture_compiled(networks.units(), [torch.empty(4, networks.WIDTH)])


def what_was_compiled_before(folder, rank):
    compiled = torch.compile(networks.averaged(), backend="aot_eager")
    compiled(torch.empty(4, networks.WIDTH))
    plan = read_program({"buckets": [], "program": []})
    with pytest.warns(UserWarning, match="torch.compiler.reset"), running(PlannedPass([plan])):
        compiled(torch.empty(4, networks.WIDTH))


SCENARIOS = {
    each.__name__: each
    for each in (
        weights_gathered_where_used,
        tensor_parallel_layers,
        experts_on_each_rank,
        checkpointed_layers,
        weights_that_layers_share,
        broken_graphs,
        gradients_averaged_in_the_backward_graph_alone,
        sizes_that_differ_from_call_to_call,
        a_plan_for_each_of_a_few_sizes,
        settings_that_would_change_the_order,
        units_of_fully_shard,
        what_was_compiled_before,
    )
}

if __name__ == "__main__":
    go_through(SCENARIOS)
