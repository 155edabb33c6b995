"""From model code to a request for 256 GPUs, by the example."""

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh

from interlace_client.torch.compiled import capture_compiled, fake_ranks

FILE = Path(__file__).parents[2] / "client" / "examples" / "capture_compiled.py"
SPEC = importlib.util.spec_from_file_location("example_capture_compiled", FILE)
EXAMPLE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(EXAMPLE)


def kinds(request):
    ops = request["graph"]["ops"]
    return [sum(op["kind"] == kind for op in ops) for kind in ("all_gather", "reduce_scatter")]


def test_the_example_writes_a_request(tmp_path, capsys):
    EXAMPLE.main(str(tmp_path / "plan.json"), 256)
    request = json.loads((tmp_path / "plan.json").read_text())
    assert kinds(request) == [16, 16]  # four layers of four matrices
    assert [c["workers"] for c in request["cluster"]["channels"].values()] == [256]
    assert "32 collectives" in capsys.readouterr().out


def test_the_partitioner_keeps_gathered_weights_unless_told_to_gather_again():
    counts = {}
    with fake_ranks(64):
        mesh = init_device_mesh("cpu", (64,))
        for recompute in (True, False):
            for part in ("forward", "backward"):
                with FakeTensorMode(allow_non_fake_inputs=True):
                    model = EXAMPLE.sharded(
                        nn.Sequential(EXAMPLE.TransformerLayer(), EXAMPLE.TransformerLayer()), mesh
                    )
                    x = torch.empty(2, 512, 1024, dtype=torch.bfloat16)
                graph = capture_compiled(model, [x], part=part, recompute_gathers=recompute)
                counts[recompute, part] = kinds(graph.request)
    assert counts[False, "forward"] == counts[True, "forward"] == [8, 0]
    assert counts[False, "backward"] == [0, 8]
    assert counts[True, "backward"][1] == 8
    assert 7 <= counts[True, "backward"][0] <= 8
