"""The figures of two papers beside ours: ``python -m tests.benchmarks.reproduce``.

PROTOCOL.md says what is compared; ``--quick`` takes fewer cells of the same tables.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.benchmarks.papers import osf, pace
from tests.benchmarks.papers.pace_cells import times
from tests.benchmarks.papers.tables import Table, show


def tables(run: pace.Run, *, quick: bool) -> Iterator[Table]:
    workers = (2, 8, 16) if quick else pace.WORKERS
    yield pace.table_2()
    yield pace.fig_8(run, workers=workers)
    yield pace.fig_9(run)
    if not quick:
        yield pace.by_startup(run)
        yield pace.by_slowness(run)
    yield osf.table_2()
    yield osf.scaling()
    yield osf.fusion()
    yield osf.by_belief()
    yield osf.by_startup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cells, in seconds")
    quick = parser.parse_args().quick
    began = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for table in tables(partial(pool.map, times), quick=quick):
            show(table)
            sys.stdout.flush()
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
