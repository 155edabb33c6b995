"""The figures of five papers beside ours: ``python -m tests.benchmarks.reproduce``.

It prints them, and writes them as a page with plots and as JSON. PROTOCOL.md says what is compared;
``--quick`` takes fewer cells of the same tables, and prints alone.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.benchmarks.papers import async_sgd, osf, pace, page, phub, sketchdlc
from tests.benchmarks.papers.pace_cells import times
from tests.benchmarks.papers.tables import Paper, show

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "measured"


def papers(run: pace.Run, *, quick: bool) -> Iterator[Paper]:
    """Compute the tables of one paper after the other."""
    yield Paper("PACE", pace.CITED, list(pace.tables(run, quick=quick)))
    yield Paper("OSF", osf.CITED, list(osf.tables(quick=quick)))
    yield Paper("SketchDLC", sketchdlc.CITED, list(sketchdlc.tables(quick=quick)))
    yield Paper("Asynchronous SGD", async_sgd.CITED, list(async_sgd.tables(quick=quick)))
    yield Paper("PHub", phub.CITED, list(phub.tables(quick=quick)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cells, printed alone")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where page, JSON and plots go")
    asked = parser.parse_args()
    began, found = time.perf_counter(), []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for paper in papers(partial(pool.map, times), quick=asked.quick):
            for table in paper.tables:
                show(table)
            sys.stdout.flush()
            found.append(paper)
    if not asked.quick:
        page.write(asked.out, found)
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
