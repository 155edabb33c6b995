"""Mappings against all mappings of small clusters, and many candidates beside many jobs.

``python -m tests.benchmarks.allocations`` does both; ``--clusters N`` and ``--mixes N`` choose how
many. The oracle is ``tests/mapping_oracle.py``, which shares no code with the search.
"""

import argparse
import time
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
from solver.clusters.workloads import DataParallelJob
from solver.graph import Graph, Op, build
from tests.mapping_oracle import bandwidth, every_mapping, rings


def graph(compute_us: float, size: int, layers: int = 6) -> Graph:
    """Return a graph of equal layers, backward pass alone."""
    ops = []
    for i in range(layers):
        after = (f"b{i - 1}",) if i else ()
        ops.append(Op(f"b{i}", "compute", compute_us / layers, after=after))
        ops.append(Op(f"g{i}", "all_reduce", bytes=size // layers, after=(f"b{i}",)))
    return build("layers", ops)


def clustered(random: Random) -> Topology:
    """Return a cluster of 5 to 8 nodes below 2 to 4 leaves, and perhaps two spines."""
    leaves, spines = random.randint(2, 4), random.randint(1, 2)
    nodes = []
    for i in range(random.randint(5, 8)):
        leaf = random.randrange(leaves)
        nodes.append(ClusterNode(f"n{i}", 8, (f"leaf{leaf}", f"spine{leaf % spines}", "core")))
    levels = ("node", "leaf", "spine", "core")
    bare = wired(nodes, levels)
    told: dict[str, float | None] = {
        link.name: random.choice([50.0, 100.0, 200.0, 400.0, 800.0]) for link in bare.links
    }
    return with_figures(wired(nodes, levels, told), node_gbps=3600, hop_us=2.0)


def against_all(clusters: int) -> None:
    """Print how far the search is from the best of all mappings, and whether the bound holds."""
    gaps, above, worse, tightness = [], 0, 0, []
    for seed in range(clusters):
        random = Random(seed)
        topology = clustered(random)
        slots = random.randint(3, min(6, len(topology.nodes)))
        job = DataParallelJob(graph(30_000.0, 10**9), slots, 8)
        over = {node.name: node.above for node in topology.nodes}
        capacity = {link.name: float(link.capacity_gbps or 0) for link in topology.links}
        edges = list(rings(slots, 1, slots, 1))
        found = {bandwidth(edges, nodes, over, capacity) for nodes in every_mapping(over, slots)}
        best = min(job.step_us(topology, [gbps]) for gbps in found)
        wiring, free = wiring_of(topology), np.arange(len(topology.nodes))
        mapping = find_mapping(MappingJudge(wiring, job), free)
        gaps.append(mapping.best.time_us / best - 1)
        bound = least_step_us(wiring, job, free)
        above += bound > best * (1 + 1e-9)
        tightness.append(best / bound - 1)
        worse += any(mapping.best.time_us > rival.time_us for _, rival in mapping.rivals)
    print(
        f"{clusters} clusters: mean gap {mean(gaps):.3%}, worst {max(gaps):.2%}; bound above "
        f"{above}, best over bound {mean(tightness):.2%} in the mean; worse than a rule {worse}"
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
    if given.clusters:
        against_all(given.clusters)
    if given.mixes:
        many_candidates(given.mixes)


if __name__ == "__main__":
    main()
