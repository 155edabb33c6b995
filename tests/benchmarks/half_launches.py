"""What half as many launches would cost: ``python -m tests.benchmarks.half_launches``.

Over every eighth cell of the suite; PROTOCOL.md says what is measured.
"""

from collections.abc import Iterator
from itertools import combinations, pairwise, permutations, product

from solver.buckets import Launch
from solver.chain import Chain, chain_of
from solver.costs import Cluster, Cost, alike, cost_of
from solver.fusion.general.judge import GraphJudge
from solver.graph import Graph
from solver.planning.options import Options
from solver.planning.plan import plan
from tests.benchmarks.suite import RATES, STARTUPS, WORKERS, graphs

#: Up to so many launches all ways to part the tensors are tried.
MOST = 3


def ways(chain: Chain, count: int) -> Iterator[tuple[Launch, ...]]:
    """Yield each plan of so many whole buckets, runs of the release order, in each order."""
    sizes = [int(size) for size in chain.bytes]
    for cuts in combinations(range(1, len(sizes)), count - 1):
        runs = pairwise((0, *cuts, len(sizes)))
        yield from permutations(Launch(tuple(range(a, b)), sum(sizes[a:b])) for a, b in runs)


def least(graph: Graph, cost: Cost, count: int) -> float:
    """Return the least time of these [us]."""
    chain = chain_of(graph)
    judge = GraphJudge(graph, chain, [cost])
    return min(judge.value(judge.split(way)) for way in ways(chain, count))


def main() -> None:
    longer = []
    for (name, graph), startup, rate, workers in list(product(graphs(), STARTUPS, RATES, WORKERS))[
        ::8
    ]:
        cost = cost_of(Cluster(workers, rate, startup))
        best = plan(graph, alike(cost), Options(baselines=(), launch_tolerance=0))
        half = len(best.launches) // 2
        if not 1 <= half <= MOST:
            continue
        longer.append(least(graph, cost, half) / best.iteration_time_us - 1)
        label = f"{name}, {startup} us, {rate} Gbit/s, {workers} workers"
        print(
            f"{label:52}{len(best.launches):4} launches, {half} take {longer[-1]:.3%} longer",
            flush=True,
        )
    print(f"cells {len(longer)}: {min(longer):.3%} to {max(longer):.3%} longer")


if __name__ == "__main__":
    main()
