"""Bars on a terminal's standard error; elsewhere nothing, or lines where they are wanted."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from solver.wording import ms

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

#: How long a phase takes before another line says how far it is [s].
_LINE_S = 5.0


class Stage(NamedTuple):
    """How far work is.

    Attributes
    ----------
    phase
        What it is at.
    completed, total
        Steps of the phase that are done, and all of them; None when unknown.
    incumbent_us, gap
        Time of the best plan so far [us], and its gap to the bound; None when there is none.
    """

    phase: str
    completed: int | None = None
    total: int | None = None
    incumbent_us: float | None = None
    gap: float | None = None


def stage_of(
    phase: str,
    completed: int | None,
    total: int | None,
    incumbent_us: float | None,
    lower_bound_us: float | None,
) -> Stage:
    """Return how far work is that says what no answer beats [us]."""
    gap = None
    if incumbent_us is not None and lower_bound_us:
        gap = max(0.0, incumbent_us / lower_bound_us - 1)
    return Stage(phase, completed, total, incumbent_us, gap)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many things are done, and how many there are."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    with _bar(BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeRemainingColumn()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def following(*, in_lines: bool = False) -> Iterator[Callable[[Stage], None]]:
    """Show how far work is: a bar in a terminal, elsewhere lines where they are wanted."""
    if not sys.stderr.isatty():
        yield _ProgressLines().show if in_lines else lambda _stage: None
    else:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

        phase, remark = TextColumn("{task.description}"), TextColumn("{task.fields[remark]}")
        with _bar(phase, BarColumn(bar_width=20), remark, TimeElapsedColumn()) as bar:
            task = bar.add_task("asking", total=None, remark="")

            def show(stage: Stage) -> None:
                bar.tasks[0].total = stage.total  # update() cannot make it unknown again
                bar.update(
                    task,
                    description=stage.phase.replace("_", " "),
                    completed=stage.completed or 0,
                    remark=_remark(stage),
                )

            yield show


class _ProgressLines:
    """Prints a line for each phase, and another one when it takes long."""

    def __init__(self) -> None:
        self._phase = ""
        self._due = 0.0

    def show(self, stage: Stage) -> None:
        """Print where the work is, unless that was said a moment ago."""
        now = time.monotonic()
        if stage.phase == self._phase and now < self._due:
            return
        self._phase, self._due = stage.phase, now + _LINE_S
        remark = _remark(stage)
        line = ": ".join(filter(None, [stage.phase.replace("_", " "), remark]))
        print(f"interlace: {line}", file=sys.stderr, flush=True)


def _bar(*columns: "ProgressColumn") -> "Progress":
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)


def _remark(stage: Stage) -> str:
    """Say how many steps are done, and how good the plan in hand is."""
    remarks = []
    if stage.completed is not None:
        total = f" of {stage.total:,}" if stage.total else ""
        remarks.append(f"{stage.completed:,}{total}")
    if stage.incumbent_us is not None:
        remarks.append(f"best {ms(stage.incumbent_us)}")
    if stage.gap is not None:
        remarks.append(f"gap {100 * stage.gap:.2f} %")
    return ", ".join(remarks)
