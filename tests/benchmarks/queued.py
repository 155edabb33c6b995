"""Ten thousand jobs that wait: what it takes to add, list, claim and cancel them.

Run it with ``python -m tests.benchmarks.queued [--jobs 10000] [--owners 20]``, without a server: on
a SQLite file, in one process, whose processor time is told for each step, so that other work of the
machine counts for little. What the disk takes is not in it.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from app.jobs import leases, queue, table
from app.jobs.kinds import SMALL, SOLVES
from app.jobs.queue import NewJob, Room, Submission
from app.operations.callers import Caller
from app.operations.settings import Settings
from app.storage.cursors import cursor_of
from app.storage.database import Store

#: Jobs of one transaction, and of one page; so many are claimed, and cancelled of those that wait.
TOGETHER, PAGE, CLAIMS, CANCELS = 25, 200, 500, 1_000


def told(what: str, steps: list[Callable[[], object]]) -> None:
    """Do the steps, and print a row of what one of them takes."""
    took = []
    for step in steps:
        began = time.process_time()
        step()
        took.append(1e3 * (time.process_time() - began))
    cells = [f"{each:.1f}" for each in (np.median(took), np.quantile(took, 0.99), max(took))]
    print(f"| {what} | {len(steps):,} | {' | '.join(cells)} | {sum(took) / 1e3:.1f} |", flush=True)


def main() -> None:
    """Measure each step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--owners", type=int, default=20)
    how = parser.parse_args()
    callers = [Caller(f"owner {i}", None, frozenset()) for i in range(how.owners)]
    ids: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Store(Settings(data_dir=Path(folder)))) as store,
    ):

        def add(first: int) -> None:
            asked = [
                Submission(
                    NewJob("plan", "", b"{}", [], "", None, "", caller=callers[i % how.owners]),
                    fresh=True,
                )
                for i in range(first, min(first + TOGETHER, how.jobs))
            ]
            for receipt in queue.add_all(store, asked, Room(2 * how.jobs, 2**40)):
                assert isinstance(receipt, queue.Receipt), receipt
                ids.append(receipt.id)

        def page() -> None:
            last = pages[-1] if pages else None
            found = table.listed(store, [], limit=PAGE, cursor=last, states=["queued"], tags=[])
            assert len(found) == PAGE
            pages.append(cursor_of(found[-1]))

        pages: list[str] = []
        print("| step | times | median [ms] | 99th percentile [ms] | most [ms] | all [s] |")
        told(f"add {TOGETHER}", [partial(add, at) for at in range(0, how.jobs, TOGETHER)])
        told(f"list {PAGE}", [page] * (how.jobs // PAGE))
        told("claim", [lambda: leases.claim(store, "it", [SMALL, SOLVES])] * CLAIMS)
        told("cancel", [partial(table.cancel, store, "plan", id_) for id_ in ids[-CANCELS:]])


if __name__ == "__main__":
    main()
