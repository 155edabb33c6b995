"""Mappings against all mappings of small clusters, and many candidates beside many jobs.

``python -m tests.benchmarks.allocations`` does both; ``--clusters N`` and ``--mixes N`` choose how
many. The oracle is ``tests/mapping_oracle.py``, which shares no code with the search.
"""

import argparse
import time
from dataclasses import dataclass
from random import Random
from statistics import mean

import numpy as np

from solver.clusters.allocation import AllocationOptions, allocate
from solver.clusters.beside import PlacedJob
from solver.clusters.figures import with_figures
from solver.clusters.mapping import MappingJudge, find_mapping
from solver.clusters.mapping_bound import least_step_us
from solver.clusters.regular import fat_tree
from solver.clusters.topology import ClusterNode, Topology, wired
from solver.clusters.wiring import wiring_of
from solver.clusters.workloads import DataParallelJob, ShapedJob, Workload
from solver.graph import Graph, Op, build
from solver.shapes.hardware import ACCELERATORS
from solver.shapes.job_shape import JobShape
from solver.shapes.published import PUBLISHED
from tests.mapping_oracle import bandwidth, chains, every_mapping, every_ring, rings

#: Shapes on 4 to 6 nodes of 8 GPUs with groups of two or three sorts between nodes.
SHAPES = (
    JobShape(tp=8, dp=2, pp=2, micro_batches=4),
    JobShape(tp=4, dp=4, pp=2, micro_batches=4),
    JobShape(tp=8, dp=5),
    JobShape(tp=16, dp=2, micro_batches=2),
    JobShape(tp=8, dp=3, pp=2, micro_batches=4),
    JobShape(tp=4, dp=2, pp=4, micro_batches=8),
)


def graph(compute_us: float, size: int, layers: int = 6) -> Graph:
    """Return a graph of equal layers, backward pass alone."""
    ops = []
    for i in range(layers):
        after = (f"b{i - 1}",) if i else ()
        ops.append(Op(f"b{i}", "compute", compute_us / layers, after=after))
        ops.append(Op(f"g{i}", "all_reduce", bytes=size // layers, after=(f"b{i}",)))
    return build("layers", ops)


def clustered(random: Random, most: int = 8) -> Topology:
    """Return a cluster of 5 to ``most`` nodes below 2 to 4 leaves, and perhaps two spines."""
    leaves, spines = random.randint(2, 4), random.randint(1, 2)
    nodes = []
    for i in range(random.randint(5, most)):
        leaf = random.randrange(leaves)
        nodes.append(ClusterNode(f"n{i}", 8, (f"leaf{leaf}", f"spine{leaf % spines}", "core")))
    levels = ("node", "leaf", "spine", "core")
    bare = wired(nodes, levels)
    told: dict[str, float | None] = {
        link.name: random.choice([50.0, 100.0, 200.0, 400.0, 800.0]) for link in bare.links
    }
    return with_figures(wired(nodes, levels, told), node_gbps=3600, hop_us=2.0)


@dataclass(frozen=True)
class Against:
    """A search against all mappings: steps relative to one another, and whether laws are broken."""

    gap: float
    over_bound: float
    is_bound_above: bool
    is_worse_than_rule: bool


def against_all(seed: int, most: int = 12, slots: int = 7, *, is_shaped: bool = False) -> Against:
    """Compare the search with the best of all mappings of a drawn job onto a drawn cluster.

    A data-parallel job is a ring of 3 to ``slots`` of up to ``most`` nodes; a shaped one has groups
    of one to three sorts on 4 to 6 of up to 8.
    """
    random = Random(seed)
    topology = clustered(random, 8 if is_shaped else most)
    over = {node.name: node.above for node in topology.nodes}
    capacity = {link.name: float(link.capacity_gbps or 0) for link in topology.links}
    job: Workload
    if is_shaped:
        shape = random.choice([each for each in SHAPES if each.gpus <= 8 * len(over)])
        job = ShapedJob(PUBLISHED["llama3-8b"], ACCELERATORS["h100"], shape, 8)
        stage = shape.tp * shape.dp
        sorts = {
            "tensor": list(rings(shape.gpus, 8, shape.tp, 1)),
            "data": list(rings(shape.gpus, 8, shape.dp, shape.tp)),
            "pipeline": list(chains(shape.gpus, 8, stage)),
        }
        edges = [sorts[group.name] for group in job.groups]
        mappings = every_mapping(over, job.slots)
    else:
        job = DataParallelJob(graph(30_000.0, 10**9), random.randint(3, min(slots, len(over))), 8)
        edges = [list(rings(job.slots, 1, job.slots, 1))]
        mappings = every_ring(over, job.slots)
    found = {tuple(bandwidth(each, nodes, over, capacity) for each in edges) for nodes in mappings}
    best = min(job.step_us(topology, gbps) for gbps in found)
    wiring, free = wiring_of(topology), np.arange(len(topology.nodes))
    mapping = find_mapping(MappingJudge(wiring, job), free)
    bound = least_step_us(wiring, job, free)
    return Against(
        mapping.best.time_us / best - 1,
        best / bound - 1,
        bound > best * (1 + 1e-9),
        any(mapping.best.time_us > rival.time_us for _, rival in mapping.rivals),
    )


def many_clusters(clusters: int, *, is_shaped: bool) -> None:
    """Print how far the search is from the best of all mappings, and whether the bound holds."""
    begun = time.process_time()
    found = [against_all(seed, is_shaped=is_shaped) for seed in range(clusters)]
    gaps = [each.gap for each in found]
    print(
        f"{clusters} clusters, {'shapes' if is_shaped else 'rings'}: best found in "
        f"{sum(gap <= 1e-9 for gap in gaps)}, mean gap {mean(gaps):.3%}, worst {max(gaps):.2%}; "
        f"bound above {sum(each.is_bound_above for each in found)}, best over bound "
        f"{mean(each.over_bound for each in found):.2%} in the mean; worse than a rule "
        f"{sum(each.is_worse_than_rule for each in found)}; "
        f"{time.process_time() - begun:.0f} s of CPU",
        flush=True,
    )


def many_candidates(mixes: int) -> None:
    """Print the time of 200 candidate sets beside 20 jobs, and which ranks simulation changes."""
    times, agree, whole = [], 0, 0
    for seed in range(mixes):
        random = Random(seed)
        topology = with_figures(fat_tree(2, 8, 16, 400.0, 16.0), node_gbps=3600, hop_us=2.0)
        wiring = wiring_of(topology)
        order = list(range(len(topology.nodes)))
        running = []
        for k in range(20):
            at = random.randrange(0, len(order) - 8)
            nodes = [order.pop(at) for _ in range(random.choice([4, 6, 8]))]
            job = DataParallelJob(
                graph(random.uniform(4e4, 12e4), random.choice([1, 2, 4]) * 10**9), len(nodes), 8
            )
            running.append(PlacedJob(f"job{k}", job, MappingJudge(wiring, job)(np.array(nodes))))
        new = DataParallelJob(graph(8e4, 3 * 10**9), 8, 8)
        sets = [np.array(sorted(random.sample(order, 8))) for _ in range(200)]
        begun = time.process_time()
        found = allocate(wiring, new, np.array(order), sets, running, AllocationOptions())
        times.append(time.process_time() - begun)
        print(f"  mix {seed}: {times[-1]:.2f} s of CPU", flush=True)
        full = allocate(
            wiring, new, np.array(order), sets, running, AllocationOptions(simulated=200)
        )
        last = full.ranked[9].objective * 1.0001
        first = {each.candidate for each in found.ranked[:10]}
        same = len(first & {each.candidate for each in full.ranked if each.objective <= last})
        agree, whole = agree + same, whole + (same == len(first))
    print(
        f"{mixes} mixes, 200 candidate sets beside 20 jobs: {mean(times):.2f} s of CPU in the "
        f"mean, {max(times):.2f} s at most; of the first 10, {agree / mixes:.1f} are among "
        f"the first 10 when all are simulated; all of them in {whole} mixes"
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--mixes", type=int, default=10)
    given = parser.parse_args()
    for is_shaped in (False, True) if given.clusters else ():
        many_clusters(given.clusters, is_shaped=is_shaped)
    if given.mixes:
        many_candidates(given.mixes)


if __name__ == "__main__":
    main()
