"""How well iteration times are predicted from a few: a hidden truth with costs of another form.

`python -m tests.benchmarks.estimates`. Truth: seconds of each model's layers off by up to 20 %, a
start-up that grows with the logarithm of the workers, a bandwidth that only large launches reach,
8 us more for each tensor of Horovod's cycle, and 3 % of noise. Given are, of each network, a row of
one worker and one row of each policy; asked are all others.
"""

import math
import random
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import median, quantiles

import numpy as np

from solver.costs import Affine, Cluster, Cost, alike
from solver.estimation.estimate import estimate
from solver.estimation.runs import Run, waits
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
#: Bandwidth that is reached [Gbit/s], start-up of two workers, and what a doubling adds [us].
NETWORKS = {"tcp": (8.0, 180.0, 60.0), "rdma": (55.0, 40.0, 15.0)}
NOMINAL = {"tcp": 10.0, "rdma": 100.0}


@dataclass(frozen=True)
class Case:
    """A measured iteration."""

    model: str
    network: str
    workers: int
    policy: str


def truth(case: Case, graph: Graph, rng: random.Random) -> float:
    """Time with the hidden costs [us]."""
    gbps, startup, doubling = NETWORKS[case.network]
    n = case.workers
    if n == 1:
        return sum(op.duration_us or 0.0 for op in graph.ops) * _noise(rng)
    fixed = startup + doubling * math.log2(n)
    per_byte = 2 * (n - 1) / n / gbps / 125
    tensors = len(graph.collectives) * 8.0 if case.policy == "horovod" else 0.0
    cost: Cost = Affine(fixed, per_byte)
    barrier = with_barrier(graph) if waits(case.policy) else graph
    time = simulate(barrier, alike(cost), bind(Choice(case.policy))).iteration_time
    return (time + tensors) * _noise(rng)


def _noise(rng: random.Random) -> float:
    return math.exp(0.03 * rng.gauss(0, 1))


def hidden(graph: Graph, rng: random.Random) -> Graph:
    """Return a graph whose layers take other times than generated ones."""
    speed = rng.uniform(0.7, 1.6)
    ops = tuple(
        op
        if op.duration_us is None
        else op._replace(duration_us=op.duration_us * speed * rng.uniform(0.8, 1.2))
        for op in graph.ops
    )
    return replace(graph, ops=ops, durations=tuple(op.duration_us or 0.0 for op in ops))


def main(seed: int = 0) -> None:
    """Print errors of what was predicted, and how often the best policy was told."""
    rng = random.Random(seed)
    real = {name: hidden(graph, rng) for name, graph in GRAPHS.items()}
    cases = [
        Case(m, net, w, p) for net in NETWORKS for m in GRAPHS for w in WORKERS for p in POLICIES
    ]
    times = {case: truth(case, real[case.model], rng) for case in cases}
    first = next(iter(GRAPHS))
    given = {Case(first, net, 8, p) for net in NETWORKS for p in POLICIES}
    alone = [Case(model, "tcp", 1, "wfbp") for model in GRAPHS]
    times |= {case: truth(case, real[case.model], rng) for case in alone}
    runs = [
        Run(
            case.model,
            GRAPHS[case.model],
            is_timed=False,
            workers=case.workers,
            choice=Choice(case.policy, waits(case.policy)),
            time_us=times[case] if case in given or case.workers == 1 else None,
            network=case.network,
            bandwidth_gbps=NOMINAL[case.network],
        )
        for case in (*alone, *cases)
    ]
    found = estimate(runs, Cluster(8, bandwidth_gbps=10, startup_us=50))
    predicted = dict(zip((*alone, *cases), found.times, strict=True))
    for each in found.parameters:
        value = "-" if each.value is None else f"{each.value:.4g}"
        print(f"{each.parameter.label:28} {value:>8} used {each.used:.4g}  {each.reason or ''}")
    errors = [abs(predicted[c] / times[c] - 1) for c in cases if c not in given]
    groups: dict[tuple[str, str, int], list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.model, case.network, case.workers].append(case)
    right = sum(
        times[min(group, key=lambda c: predicted[c])] <= 1.03 * min(times[c] for c in group)
        for group in groups.values()
    )
    tenth = quantiles(errors, n=10)[8]
    print(
        f"{len(errors)} rows predicted from {len(given) + len(alone)}: median error "
        f"{100 * median(errors):.1f} %, 90 % within {100 * tenth:.1f} %, worst "
        f"{100 * float(np.max(errors)):.1f} %; best policy, or one within the noise of it, in "
        f"{right} of {len(groups)}"
    )


if __name__ == "__main__":
    for number in range(3):
        main(number)
