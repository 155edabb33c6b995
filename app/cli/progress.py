"""Bars on a terminal's standard error; elsewhere nothing is shown."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from interlace_client import Progress as JobProgress


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many things are done, and how many there are."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    with _bar(BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeRemainingColumn()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def following() -> Iterator[Callable[["JobProgress"], None]]:
    """Show how far a job of a service is."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    phase, remark = TextColumn("{task.description}"), TextColumn("{task.fields[remark]}")
    with _bar(phase, BarColumn(bar_width=20), remark, TimeElapsedColumn()) as bar:
        task = bar.add_task("asking", total=None, remark="")

        def show(progress: "JobProgress") -> None:
            queued = progress.state == "queued"
            phase = progress.state if queued else progress.phase or progress.state
            bar.tasks[0].total = progress.total  # update() cannot make it unknown again
            bar.update(
                task,
                description=phase.replace("_", " "),
                completed=progress.completed or 0,
                remark=_remark(progress),
            )

        yield show


def _bar(*columns: ProgressColumn) -> Progress:
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _remark(progress: "JobProgress") -> str:
    """Say how many steps are done, and how good the plan in hand is."""
    remarks = []
    if progress.completed is not None:
        total = f" of {progress.total:,}" if progress.total else ""
        remarks.append(f"{progress.completed:,}{total}")
    if progress.incumbent_us is not None:
        remarks.append(f"best {progress.incumbent_us / 1e3:.3f} ms")
    if progress.gap is not None:
        remarks.append(f"gap {100 * progress.gap:.2f} %")
    return ", ".join(remarks)
