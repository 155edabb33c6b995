"""How many plans are proven the best, and how far the others are from their bounds.

Run it with ``python -m tests.benchmarks.proven``; PROTOCOL.md says what is measured.
"""

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from solver.costs import Cluster, Network, as_network
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build
from solver.planning.options import Options
from solver.planning.plan import plan
from tests import dag_graphs

#: Start-ups of the chains [us]; workers and bandwidth [Gbit/s] of all.
STARTUPS, WORKERS, GBPS = (200.0, 1_000.0, 4_000.0), 12, 10.0


class Row(NamedTuple):
    """One plan: its time, the bound and its kind, what is proven, and processor time [s]."""

    name: str
    tensors: int
    time_us: float
    bound_us: float
    kind: str
    status: str
    cpu_s: float

    @property
    def gap(self) -> float:
        """How much the plan is above its bound, relatively."""
        return self.time_us / self.bound_us - 1 if self.bound_us else 0.0


def layer_chain(seed: int, least: int = 40, most: int = 110) -> Graph:
    """Draw a chain of layers: gradients from the last layer on, needed from the first one on."""
    generator = random.Random(seed)
    count = generator.randint(least, most)
    forward = [10 ** generator.uniform(1.5, 3.5) for _ in range(count)]
    sizes = [int(10 ** generator.uniform(3.5, 7.2)) // 4 * 4 + 4 for _ in range(count)]
    ops = []
    last: tuple[str, ...] = ()
    for i in reversed(range(count)):
        ops.append(Op(f"b{i}", COMPUTE, 2 * forward[i], None, last))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, sizes[i], (f"b{i}",)))
        last = (f"b{i}",)
    last = ()
    for i in range(count):
        ops.append(Op(f"f{i}", COMPUTE, forward[i], None, (f"g{i}", *last)))
        last = (f"f{i}",)
    return build(f"chain {seed}", ops)


def small_layered(seed: int, least: int = 3, most: int = 8) -> Graph:
    """Draw a layered graph of a few tensors: any releases, any tails, on a coarse grid of times."""
    generator = random.Random(seed)
    count = generator.randint(least, most)
    ops = []
    is_chain = generator.random() < 0.5
    last: tuple[str, ...] = ()
    for i in range(count):
        after = last if is_chain or generator.random() < 0.3 else ()
        ops.append(Op(f"b{i}", COMPUTE, 100.0 * generator.randint(0, 8), None, after))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, 100_000 * generator.randint(1, 12), (f"b{i}",)))
        last = (f"b{i}",)
    last = ()
    for i in reversed(range(count)):
        after = last if is_chain or generator.random() < 0.3 else ()
        ops.append(Op(f"f{i}", COMPUTE, 100.0 * generator.randint(0, 8), None, (f"g{i}", *after)))
        last = (f"f{i}",)
    return build(f"layered {seed}", ops)


def small_cluster(seed: int) -> Cluster:
    """Draw a cluster for a small layered graph."""
    generator = random.Random(f"cluster {seed}")
    startup = generator.choice((0.0, 50.0, 200.0, 800.0))
    return Cluster(8, generator.choice((2.0, 10.0, 25.0)), startup)


def chains(count: int) -> Iterator[tuple[Graph, Network]]:
    """Yield the long chains, each with one of the start-ups."""
    for seed in range(count):
        cluster = Cluster(WORKERS, GBPS, STARTUPS[seed % len(STARTUPS)])
        yield layer_chain(seed), as_network(cluster)


def layered(count: int) -> Iterator[tuple[Graph, Network]]:
    """Yield small layered graphs."""
    for seed in range(count):
        yield small_layered(seed), as_network(small_cluster(seed))


def middling(count: int) -> Iterator[tuple[Graph, Network]]:
    """Yield layered graphs of 9 to 14 tensors."""
    for seed in range(count):
        yield small_layered(seed, 9, 14), as_network(small_cluster(seed))


def general(count: int) -> Iterator[tuple[Graph, Network]]:
    """Yield small general graphs."""
    for seed in range(count):
        drawn = dag_graphs.case(seed, 3, 8)
        yield drawn.graph, drawn.network


def ordered(count: int) -> Iterator[tuple[Graph, Network]]:
    """Yield general graphs of 14 to 30 collectives."""
    for seed in range(count):
        drawn = dag_graphs.case(seed, 14, 30)
        yield drawn.graph, drawn.network


#: What is planned, by name, and how many of each by default.
GROUPS = {
    "chains": (chains, 24),
    "layered": (layered, 1_000),
    "middling": (middling, 200),
    "general": (general, 1_000),
    "ordered": (ordered, 60),
}


def solve(graph: Graph, network: Network, tolerance: float, prove_s: float) -> Row:
    """Plan one graph."""
    began = time.process_time()
    options = Options(baselines=(), launch_tolerance=tolerance, prove_s=prove_s)
    found = plan(graph, network, options)
    return Row(
        graph.name,
        len(graph.collectives),
        found.iteration_time_us,
        found.lower_bound_us,
        found.bound.kind,
        found.status,
        time.process_time() - began,
    )


def line(name: str, rows: Sequence[Row]) -> str:
    """Say what was proven of a group."""
    gaps = [row.gap for row in rows]
    statuses = Counter(row.status for row in rows)
    kinds = Counter(f"{row.kind} {row.status}" for row in rows)
    return (
        f"{name}: {len(rows)}, {dict(statuses.most_common())}, "
        f"gap mean {statistics.mean(gaps):.3%} worst {max(gaps):.3%}, "
        f"CPU s mean {statistics.mean(row.cpu_s for row in rows):.3f} "
        f"worst {max(row.cpu_s for row in rows):.2f}; {dict(kinds.most_common())}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", default=list(GROUPS), help=", ".join(GROUPS))
    parser.add_argument("--count", type=int, help="of each group")
    parser.add_argument("--tolerance", type=float, default=0.0, help="launch_tolerance")
    parser.add_argument("--prove", type=float, default=0.0, help="prove_s")
    parser.add_argument("--json", type=Path, help="write all rows to this file")
    parser.add_argument("--open", action="store_true", help="list what is not proven")
    arguments = parser.parse_args()
    rows: dict[str, list[Row]] = {}
    for name in arguments.groups:
        draw, count = GROUPS[name]
        asked = arguments.tolerance, arguments.prove
        rows[name] = [solve(*each, *asked) for each in draw(arguments.count or count)]
        print(line(name, rows[name]), flush=True)
        for row in rows[name] if arguments.open else ():
            if row.status != "optimal":
                print(f"  {row.name}: {row.tensors} tensors, {row.kind}, {row.gap:.3%}")
    if arguments.json:
        text = {name: [row._asdict() for row in found] for name, found in rows.items()}
        arguments.json.write_text(json.dumps(text, indent=1))


if __name__ == "__main__":
    main()
