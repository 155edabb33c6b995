"""A plan of ``interlace.plan`` goes straight into the runtime."""

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist
from torch import nn

import interlace
from interlace_client.torch import PlannedDDP, read_plan

CLUSTER = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}


@pytest.fixture
def one_rank():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_a_plan_is_what_the_runtime_takes(one_rank: None) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 8))
    ops, last = [], None
    for name, parameter in reversed([*model.named_parameters()]):
        ops.append(interlace.Op(f"b:{name}", "compute", 90.0, after=(last,) if last else ()))
        size = parameter.numel() * parameter.element_size()
        ops.append(interlace.Op(f"grad:{name}", "all_reduce", None, size, (f"b:{name}",)))
        last = f"b:{name}"
    plan = interlace.plan(interlace.build("two linear", ops), CLUSTER)
    assert [launch.bytes for launch in read_plan(plan).launches] == [p.bytes for p in plan.parts]
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    planned = PlannedDDP(model, optimizer, plan)
    assert planned.plan == read_plan(plan)
    planned(torch.ones(4, 64)).sum().backward()
    optimizer.step()
    planned.drain()
    after = [*model.parameters()]
    assert all(not torch.equal(x, y) for x, y in zip(before, after, strict=True))
    planned.detach()
