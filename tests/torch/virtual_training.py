"""A training run in virtual time: layers that take theirs, launches that take theirs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from app.reading.requests import problem_of, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.simulations import SimulationRequest
from app.services.plans import solve
from app.services.simulations import run
from interlace_client.torch import PlannedDDP
from interlace_client.torch.drift import Steering
from solver.models.layers import Layer
from tests.torch.virtual_time import ELEMENT, Channel, Clock, TimedLayer

#: Elements, forward and backward time [us] of each layer.
_LAYERS = (
    (500, 900.0, 1_800.0),
    (2_500, 1_200.0, 2_500.0),
    (10_000, 1_500.0, 3_000.0),
    (22_500, 900.0, 1_500.0),
    (15_000, 500.0, 900.0),
)
LAYERS = [
    Layer(f"{k}", forward, backward, (("weight", ELEMENT * count),))
    for k, (count, forward, backward) in enumerate(_LAYERS)
]
COMPUTE = sum(layer.forward_us + layer.backward_us for layer in LAYERS)


class Link(Channel):
    """A channel of a start-up, and of bytes at a rate [bytes/us]; both may change."""

    def __init__(self, clock: Clock, startup: float, rate: float) -> None:
        super().__init__(clock, lambda size: self.startup + size / self.rate)
        self.startup, self.rate = startup, rate

    def table(self) -> list[list[float]]:
        return [[2**k, self.cost(2**k)] for k in range(8, 26)]


def graph_of(layers: Sequence[Layer]) -> dict[str, Any]:
    """Write the graph that capture makes of layers, updates and all else at no time."""
    ops: list[dict[str, Any]] = []

    def compute(op: str, us: float, *after: str) -> None:
        op_of = {"id": op, "kind": "compute", "duration_us": us}
        ops.append({**op_of, "after": list(after), "stream": "worker"})

    for k, layer in reversed(list(enumerate(layers))):
        op, ((_, size),) = f"backward:{k}.weight", layer.gradients
        compute(op, layer.backward_us)
        grad = {"id": f"grad:{k}.weight", "kind": "all_reduce", "bytes": size, "after": [op]}
        ops.append(grad)
    compute("backward:end", 0.0)
    compute("between", 0.0)
    for k, layer in enumerate(layers):
        compute(f"update:{k}.weight", 0.0, f"grad:{k}.weight")
        compute(f"forward:{k}", layer.forward_us)
    return {"ops": ops}


class Library:
    """Plans in this process; an answer can be held up, or be something else."""

    def __init__(self) -> None:
        self.plans: list[dict[str, Any]] = []
        self.simulated: list[float] = []

    def plan(self, graph: Any, cluster: Any, *, barrier: bool) -> dict[str, Any]:
        options = {"barrier": barrier, "baselines": []}
        request = {"graph": graph, "cluster": cluster, "options": options}
        answer = solve(problem_of(read_parsed(request, PlanRequest)))
        self.plans.append(answer.model_dump(mode="json"))
        return self.plans[-1]

    def simulate(self, graph: Any, cluster: Any, plan: Any, *, barrier: bool) -> float:
        sent = {field: plan[field] for field in ("buckets", "schedule")}
        request = {"graph": graph, "cluster": cluster, "plan": sent, "barrier": barrier}
        answer = run(problem_of(read_parsed(request, SimulationRequest)))
        self.simulated.append(answer.iteration_time_us)
        return answer.iteration_time_us


class Scripted:
    """Answers what it was given; says that a plan takes what it is told."""

    def __init__(self, run_times, answer) -> None:
        self.times, self.answer, self.asked = run_times, answer, 0

    def plan(self, graph, cluster, *, barrier):
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        us = self.simulate(graph, cluster, self.answer, barrier=barrier)
        return {**self.answer, "iteration_time_us": us}

    def simulate(self, graph, cluster, plan, *, barrier):
        return self.times[len(plan["buckets"])]


def whole(*groups):
    """Write a plan of layers' weights, each group in a bucket of its own."""
    sizes = [[LAYERS[k].gradients[0][1] for k in group] for group in groups]
    return {
        "buckets": [
            {"id": f"b{i}", "tensors": [f"grad:{k}.weight" for k in group], "bytes": sum(size)}
            for i, (group, size) in enumerate(zip(groups, sizes, strict=True))
        ],
        "schedule": {
            "parts": [
                {"bucket": f"b{i}", "offset_bytes": 0, "bytes": sum(size)}
                for i, size in enumerate(sizes)
            ]
        },
    }


#: What DistributedDataParallel would begin with, were the layers forty times as large.
START = whole((4, 3), (2, 1, 0))


class Run:
    """Steps of a model of timed layers on a link, steered by a planner."""

    def __init__(self, rate=17.5, planner=None, plan=None, **options):
        self.clock = Clock()
        self.link = Link(self.clock, 50.0, rate)
        self.layers = nn.Sequential(*(TimedLayer(self.clock, each) for each in LAYERS))
        self.optimizer = torch.optim.SGD(self.layers.parameters(), lr=0.1)
        barrier = options.pop("barrier", False)
        self.model = PlannedDDP(
            self.layers, self.optimizer, plan or START, transport=self.link, barrier=barrier
        )
        self.planner: Any = planner or Library()
        self.graph = options.pop("graph", graph_of(LAYERS))
        self.cluster = {"workers": 4, "algorithm": "table", "table": self.link.table()}
        self.cluster |= options.pop("cluster", {})
        self.steering = Steering(
            self.model,
            self.planner,
            self.graph,
            self.cluster,
            clock=lambda: self.clock.now,
            **options,
        )
        self.times: list[float] = []

    def step(self, times: int = 1) -> None:
        """Take steps; whatever is planned is planned within one."""
        for _ in range(times):
            began = self.clock.now
            self.model(torch.zeros(1, requires_grad=True)).sum().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.times.append(self.clock.now - began)
            assert self.steering._judge.planning.wait()

    def compute_takes(self, factor: float) -> None:
        """Have all compute take so many times as long as at first."""
        for timed, layer in zip(self.layers, LAYERS, strict=True):
            passes = factor * layer.forward_us, factor * layer.backward_us
            timed.layer = replace(layer, forward_us=passes[0], backward_us=passes[1])

    @property
    def taken(self):
        return self.steering.taken
