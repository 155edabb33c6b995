"""What plans gain that know of contention: sharded LLaMA-7B on two communicators of one card.

    python -m tests.benchmarks.contention

Each row is timed under its contention: a plan made for it, the plan of a search that knows nothing
of it, and the collectives first in, first out. CPU time is that of the first plan.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

from solver.costs import Cluster, Network, network_of
from solver.graph import COMPUTE, REDUCE_SCATTER, Graph, build
from solver.models import MODELS
from solver.models.parallel import NVLINK
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies.choice import Choice
from solver.simulation.contention import without_slowdowns
from solver.simulation.engine import simulate
from solver.simulation.replay import replay

SCATTERS = "scatters"

#: Times are compared, so plans are those of the best time.
BEST = Options(baselines=(), time_limit_s=600, launch_tolerance=0)

#: Slowdowns that all ops state, and the card that gathers and scatters share.
SORTS = {
    "one card": ({}, "card"),
    "slowdowns 1.19": ({NVLINK: 1.19, SCATTERS: 1.19}, None),
    "both": ({NVLINK: 1.19, SCATTERS: 1.19}, "card"),
    "1.5 by scatters, one card": ({NVLINK: 1.0, SCATTERS: 1.5}, "card"),
}


def problem(gbps: float, slowdown: dict[str, float], card: str | None) -> tuple[Graph, Network]:
    """Return FSDP on nodes of 8 GPUs, reduce-scatters on a channel of their own."""
    graph = MODELS["fsdp_llama_7b"]()
    stated = tuple(sorted(slowdown.items())) or None
    ops = [
        op._replace(slowdown=stated)
        if op.kind == COMPUTE
        else op._replace(channel=SCATTERS if op.kind == REDUCE_SCATTER else op.channel)
        for op in graph.ops
    ]
    node = Cluster(8, gbps, 20.0, shares=card)
    cluster = Cluster(16, 100.0, 50.0, channels=((NVLINK, node), (SCATTERS, node)))
    return build(graph.name, ops), network_of(cluster)


def rows() -> Iterator[str]:
    """Yield a row of the table for each cluster and contention."""
    for gbps in (800, 2400):
        for name, (slowdown, card) in SORTS.items():
            graph, network = problem(gbps, slowdown, card)
            began = time.process_time()
            ours = plan(graph, network, replace(BEST, baselines=(Choice("wfbp"),)))
            took = time.process_time() - began
            blind = replace(network, cards=())
            other = plan(without_slowdowns(graph), blind, BEST)
            under_it = simulate(graph, network, replay(other.launches)).iteration_time
            fifo = ours.baselines[0].iteration_time_us or 0.0
            figures = (ours.iteration_time_us, under_it, fifo, ours.lower_bound_us)
            cells = "".join(f" {figure / 1e3:.1f} |" for figure in figures)
            yield f"| {gbps} | {name} |{cells} {took:.1f} |"


def main() -> None:
    """Print the table."""
    print(f"| Gbit/s ({NVLINK}) | contention | plan | blind plan | FIFO | bound | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for row in rows():
        print(row, flush=True)


if __name__ == "__main__":
    main()
