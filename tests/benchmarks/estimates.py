"""How well iteration times are predicted from one of each network, beside who knows the truth.

`python -m tests.benchmarks.estimates`. Hidden in each world: models with layers off by up to 20 %
and a speed of their own; networks whose start-up grows with the logarithm of the workers and whose
small launches are slow (a term with the root of the bytes); 8 us more for each tensor in Horovod's
loop, 20 us for each launch of ByteScheduler; 3 % of noise on every time. Given are a row of one
worker of each model and one row of each network; asked are the others of 4 models on 2 networks of
3 sizes under 3 policies. Who knows the truth predicts each time without its noise: no one does
better. A policy is right when it is the best, or within 1 % of it as measured or as predicted.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from statistics import median, quantiles

from solver.costs import Cluster, MeasuredCost, alike
from solver.estimation.estimate import Estimate, estimate
from solver.estimation.runs import MeasuredRun, waits
from solver.graph import Graph, with_barrier
from solver.models import MODELS, resnet101, vgg19
from solver.policies.choice import Choice, bind
from solver.simulation.engine import simulate

GRAPHS = {
    "vgg16": MODELS["vgg16"](),
    "resnet50": MODELS["resnet50"](),
    "vgg19": vgg19(),
    "resnet101": resnet101(),
}
POLICIES = ("wfbp", "horovod", "bytescheduler")
WORKERS = (4, 8, 16)
NOMINAL = {"tcp": 10.0, "rdma": 100.0}
#: Share of the nominal bandwidth, and start-up of 8 workers [us]: from, to. The middle of the
#: latter is what the authors of MG-WFBP measured for all-reduce (98 us on InfiniBand, 523 us on
#: Ethernet), which the plausible values of an estimate come from too: so it may be six times off.
SHARES = {"tcp": (0.55, 0.95), "rdma": (0.35, 0.85)}
STARTUPS = {"tcp": (75.0, 3000.0), "rdma": (15.0, 600.0)}
SIZES = tuple(2**k for k in range(10, 31))
NOISE, TIE = 0.03, 0.01
SEEDS = range(5)


@dataclass(frozen=True)
class Case:
    """An iteration."""

    model: str
    network: str
    workers: int
    policy: str


@dataclass(frozen=True)
class World:
    """What is hidden: graphs, bandwidth that is reached [bytes/us], start-up of 8 workers [us]."""

    graphs: Mapping[str, Graph]
    bandwidths: Mapping[str, float]
    startups: Mapping[str, float]


def drawn(rng: random.Random) -> World:
    """Return a world."""
    return World(
        {name: _slower(graph, rng) for name, graph in GRAPHS.items()},
        {net: rng.uniform(*SHARES[net]) * 125 * gbps for net, gbps in NOMINAL.items()},
        {net: math.exp(rng.uniform(*map(math.log, STARTUPS[net]))) for net in NOMINAL},
    )


def _slower(graph: Graph, rng: random.Random) -> Graph:
    speed = rng.uniform(0.7, 1.6)
    ops = tuple(
        op
        if op.duration_us is None
        else op._replace(duration_us=op.duration_us * speed * rng.uniform(0.8, 1.2))
        for op in graph.ops
    )
    return replace(graph, ops=ops, durations=tuple(op.duration_us or 0.0 for op in ops))


def truth(case: Case, world: World) -> float:
    """Time of an iteration without noise [us]."""
    graph, n = world.graphs[case.model], case.workers
    if n == 1:
        return sum(graph.durations)
    startup = world.startups[case.network] * math.log2(n) / 3
    startup += 20 * (case.policy == "bytescheduler")
    per_byte = 2 * (n - 1) / n / world.bandwidths[case.network]
    times = tuple(startup + per_byte * (size + math.sqrt(1e5 * size)) for size in SIZES)
    cost = MeasuredCost(SIZES, times, per_byte, 0.0)
    barrier = with_barrier(graph) if waits(case.policy) else graph
    hidden = (("tensor_time_us", 8.0),) if case.policy == "horovod" else ()
    policy = bind(Choice(case.policy, parameters=hidden))
    return simulate(barrier, alike(cost), policy).iteration_time


def asked(cases: list[Case], known: Mapping[Case, float]) -> Estimate:
    """Estimate from what is known."""
    runs = [
        MeasuredRun(
            case.model,
            GRAPHS[case.model],
            is_timed=False,
            workers=case.workers,
            choice=Choice(case.policy, waits(case.policy)),
            time_us=known.get(case),
            network=case.network,
            bandwidth_gbps=NOMINAL[case.network],
        )
        for case in cases
    ]
    return estimate(runs, Cluster(8))


def told(times: Mapping[Case, float], predicted: Mapping[Case, float], given: set[Case]) -> str:
    """Say how well times are predicted, and in how many settings the best policy is."""
    errors = [abs(predicted[case] / times[case] - 1) for case in times if case not in given]
    right = 0
    for model, network, workers in product(GRAPHS, NOMINAL, WORKERS):
        group = [Case(model, network, workers, policy) for policy in POLICIES]
        real, told = (min(group, key=of.__getitem__) for of in (times, predicted))
        right += times[told] <= (1 + TIE) * times[real] or (
            predicted[real] <= (1 + TIE) * predicted[told]
        )
    tenth = quantiles(errors, n=10)[8]
    return (
        f"median {100 * median(errors):5.1f} %  90 % within {100 * tenth:6.1f} %  worst "
        f"{100 * max(errors):6.1f} %  best right {right} of 24"
    )


def main() -> None:
    """Print errors of what was predicted, and how often the best policy was told."""
    cases = [
        Case(*each, policy) for each in product(GRAPHS, NOMINAL, WORKERS) for policy in POLICIES
    ]
    alone = [Case(model, "tcp", 1, "wfbp") for model in GRAPHS]
    for seed in SEEDS:
        rng = random.Random(seed)
        world = drawn(rng)
        exact = {case: truth(case, world) for case in (*alone, *cases)}
        times = {case: exact[case] * math.exp(NOISE * rng.gauss(0, 1)) for case in exact}
        settings = {case: times[case] for case in cases}
        print(f"seed {seed}  the truth known      {told(settings, exact, set())}")
        for model, policy in product(("vgg16", "resnet50"), ("wfbp", "horovod")):
            given = {Case(model, network, 8, policy) for network in NOMINAL}
            found = asked([*alone, *cases], {case: times[case] for case in (*alone, *given)})
            predicted = dict(zip((*alone, *cases), found.times, strict=True))
            line = told(settings, predicted, given)
            print(f"seed {seed}  {model:8} {policy:10}  {line}", flush=True)


if __name__ == "__main__":
    main()
