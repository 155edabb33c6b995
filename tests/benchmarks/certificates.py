"""Certificates of the suite: accepted as they are, refused where something in them is false.

``--cells N`` takes every N-th cell of ``make suite``, ``--false N`` makes so many false claims in
all. PROTOCOL.md says what is measured.
"""

import argparse
import json
import time
from collections import Counter
from itertools import product

from solver.costs import Cluster
from solver.planning.options import Options
from tests.benchmarks.suite import RATES, STARTUPS, WORKERS, graphs
from tests.false_claims import checked, false_claims, files_of, is_refuted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1, help="take every N-th cell")
    parser.add_argument("--false", type=int, default=1_000, help="false claims in all")
    arguments = parser.parse_args()
    cells = [*product(graphs(), STARTUPS, RATES, WORKERS)][:: arguments.cells]
    each = -(-arguments.false // len(cells))
    kinds, refused, passed = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    largest, longest = 0, 0.0
    for seed, ((name, graph), startup, rate, workers) in enumerate(cells):
        found, files = files_of(graph, Cluster(workers, rate, startup), Options(baselines=()))
        began = time.perf_counter()
        said = "none" if "no_portable_certificate" in files[2] else checked(files)[:3]
        longest = max(longest, time.perf_counter() - began)
        kinds[found.bound.kind, said] += 1
        largest = max(largest, len(json.dumps(files[2])))
        for claim, changed in false_claims(files, seed, each) if said == "yes" else ():
            (refused if is_refuted(changed) else passed)[claim] += 1
            if not is_refuted(changed):
                print(f"accepted: {claim}: {name}, {startup} us, {rate} Gbit/s, {workers} workers")
    print(f"{len(cells)} cells: " + ", ".join(f"{n} {k} {said}" for (k, said), n in kinds.items()))
    print(f"largest {largest:,} characters, at most {longest:.1f} s to check")
    print(f"{sum(refused.values())} of {sum((refused + passed).values())} false claims refused")
    for claim, count in sorted(refused.items()):
        print(f"  {claim}: {count} of {count + passed[claim]}")


if __name__ == "__main__":
    main()
