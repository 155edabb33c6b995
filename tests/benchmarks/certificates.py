"""Certificates of plans: accepted as they are, refused where something in them is false.

``--of`` names what is planned, ``--cells N`` takes every N-th of it, ``--false N`` makes so many
false claims in all. PROTOCOL.md says what is measured.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from interlace_check import NotCovered
from solver.costs import Cluster
from solver.graph import Graph
from solver.planning.options import Options
from tests import dag_graphs
from tests.benchmarks.proven import small_cluster, small_layered
from tests.benchmarks.suite import RATES, STARTUPS, WORKERS, graphs
from tests.false_claims import checked, false_claims, files_of, is_refuted
from tests.families import FAMILIES, cluster, drawn
from tests.families import RATES as FAMILY_RATES
from tests.families import STARTUPS as FAMILY_STARTUPS


class Problem(NamedTuple):
    """What is planned."""

    name: str
    graph: Graph
    cluster: Cluster


def suite() -> Iterator[Problem]:
    """Yield the cells of ``make suite``."""
    for (name, graph), startup, rate, workers in product(graphs(), STARTUPS, RATES, WORKERS):
        title = f"{name}, {startup} us, {rate} Gbit/s, {workers} workers"
        yield Problem(title, graph, Cluster(workers, rate, startup))


def layered() -> Iterator[Problem]:
    """Yield layered graphs of 3 to 8 tensors, and of 9 to 14."""
    for seed in range(300):
        yield Problem(f"layered {seed}", small_layered(seed), small_cluster(seed))
    for seed in range(100):
        yield Problem(f"middling {seed}", small_layered(seed, 9, 14), small_cluster(seed))


def general(least: int, most: int, count: int) -> Iterator[Problem]:
    """Yield general graphs, with one cost for all kinds of a channel."""
    for seed in range(count):
        case = dag_graphs.case(seed, least, most)
        yield Problem(case.name, case.graph, case.cluster)


def families() -> Iterator[Problem]:
    """Yield the smallest graphs of each family, of 16 to 18 collectives."""
    for name, startup, rate in product(FAMILIES, FAMILY_STARTUPS, FAMILY_RATES):
        yield Problem(
            f"{name}, {startup} us, {rate} Gbit/s", drawn(name, 16), cluster(startup, rate)
        )


#: What may be planned, by name.
PROBLEMS: dict[str, Callable[[], Iterator[Problem]]] = {
    "suite": suite,
    "layered": layered,
    "general": lambda: general(3, 8, 300),
    "ordered": lambda: general(14, 30, 60),
    "families": families,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--cells", type=int, default=1, help="take every N-th of it")
    parser.add_argument("--false", type=int, default=1_000, help="false claims in all")
    parser.add_argument("--open", action="store_true", help="list what has no certificate")
    arguments = parser.parse_args()
    cells = [(of, cell) for of in arguments.of for cell in [*PROBLEMS[of]()][:: arguments.cells]]
    each = -(-arguments.false // len(cells))
    kinds, refused, passed = Counter[tuple[str, ...]](), Counter[str](), Counter[str]()
    largest, longest = 0, 0.0
    for seed, (of, (name, graph, cost)) in enumerate(cells):
        found, files = files_of(graph, cost, Options(baselines=(), launch_tolerance=0))
        began = time.perf_counter()
        said = _said(files)
        longest = max(longest, time.perf_counter() - began)
        line = files[2].get("lines", [{"bound": "none"}])[-1]["bound"]
        kinds[of, found.bound.kind, line, said] += 1
        largest = max(largest, len(json.dumps(files[2])))
        if said != "yes" and arguments.open:
            why = files[2].get("no_portable_certificate", said)
            print(f"  {name}: {found.bound.kind}, {found.status}: {why}")
        for claim, changed in false_claims(files, seed, each) if said == "yes" else ():
            (refused if is_refuted(changed) else passed)[claim] += 1
            if not is_refuted(changed):
                print(f"accepted: {claim}: {name}")
    for of in arguments.of:
        own = {key: count for key, count in kinds.items() if key[0] == of}
        yes = sum(count for key, count in own.items() if key[3] == "yes")
        print(f"{of}: {yes} of {sum(own.values())} accepted")
        for (_, kind, line, said), count in sorted(own.items()):
            print(f"  {count} {kind}, as {line}: {said}")
    print(f"largest {largest:,} characters, at most {longest:.1f} s to check")
    print(f"{sum(refused.values())} of {sum((refused + passed).values())} false claims refused")
    for claim, count in sorted(refused.items()):
        print(f"  {claim}: {count} of {count + passed[claim]}")


def _said(files):
    if "no_portable_certificate" in files[2]:
        return "none"
    try:
        return checked(files)[:3]
    except NotCovered as error:
        return str(error)


if __name__ == "__main__":
    main()
