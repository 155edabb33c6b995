"""What arrivals tell, in sentences: who is late and why, or that nobody is."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from solver.arrivals.causes import LATE, LATE_INPUT, SLOW_LINK, Cause
from solver.wording import ms

if TYPE_CHECKING:
    from solver.arrivals.report import ArrivalReport

_SHOWN = 4


def said(
    report: "ArrivalReport",
    members: Mapping[str, tuple[int, ...]],
    contradicted: float,
    *,
    is_aligned: bool,
) -> Iterator[str]:
    """Say each cause, or that nobody is named and why; then how well the clocks were aligned.

    Parameters
    ----------
    report
        Without sentences.
    members
        The ranks of each group.
    contradicted, is_aligned
        Share of the collectives that end before their last rank came, and whether so few do that
        the clocks are right.
    """
    for cause in report.causes:
        yield from _cause(cause, report, members)
    if not is_aligned:
        yield (
            f"Nobody is named: {contradicted:.0%} of the collectives end before their last rank "
            "came, so their ends do not align the ranks' clocks."
        )
    elif not report.causes:
        yield _nobody(report)
    if is_aligned:
        yield _waits(report)
    counted = f"{report.collectives:,} collectives of {_count(report.steps, 'step')}"
    yield (
        f"The clocks of {len(report.ranks)} ranks were aligned by the ends of {counted}, which "
        f"are then {_time_text(report.clock_us)} apart."
    )


def _cause(
    cause: Cause, report: "ArrivalReport", members: Mapping[str, tuple[int, ...]]
) -> Iterator[str]:
    step = "" if report.step_us is None else f" of {_time_text(report.step_us)}"
    late = _time_text(cause.late_us)
    around = (
        f"in a step{step} ({_time_text(cause.low_us)} to {_time_text(cause.high_us)}; noise is "
        f"below {_time_text(cause.limit_us)})"
    )
    figures = f"{late} {around}"
    if cause.kind == SLOW_LINK:
        yield (
            f"A link is slow: collectives of {cause.group} take {late} longer than others of their "
            f"kind {around}, {cause.op} the most. {_whose(cause, members)}"
        )
    elif cause.kind == LATE_INPUT:
        yield (
            f"Rank {cause.rank} works longer than the others before {cause.op} alone: by "
            f"{figures}. Its input is late, or what else it does there."
        )
    elif cause.kind == LATE:
        yield (
            f"Rank {cause.rank} comes late to {cause.op}: by {figures}. With one op a step nothing "
            "tells slower compute from a late input."
        )
    else:
        most = ", ".join(
            f"{_time_text(each.late_us)} before {each.op}" for each in cause.ops[:_SHOWN]
        )
        yield (
            f"Rank {cause.rank} computes slower than the others: it is late by {figures}, in "
            f"proportion to its work ({most})."
        )
    if cause.step_without_us is not None and report.step_us is not None:
        yield (
            f"Without it a step would take {_time_text(cause.step_without_us)}, "
            f"{1 - cause.step_without_us / report.step_us:.1%} less."
        )


def _whose(cause: Cause, members: Mapping[str, tuple[int, ...]]) -> str:
    groups = sorted({each.group for each in cause.ops})
    if cause.rank is not None:
        return (
            f"It is that of rank {cause.rank}: it alone is in all slow groups "
            f"({', '.join(groups[:_SHOWN])}), and in no other of their kind."
        )
    ranks = members.get(cause.group or "", ())
    shown = ", ".join(map(str, ranks[:_SHOWN])) + (", ..." if len(ranks) > _SHOWN else "")
    return f"Of which of its ranks ({shown}) is not identifiable: no other groups tell them apart."


def _waits(report: "ArrivalReport") -> str:
    last = max(report.ranks, key=lambda one: (one.last, -one.rank))
    most = max(report.ranks, key=lambda one: (one.waited_us, -one.rank))
    if not most.waited_us:
        return "No rank waits for another: all come to each collective at the same time."
    return (
        f"Rank {last.rank} came last most often, to {last.last:,} of {report.collectives:,} "
        f"collectives; rank {most.rank} waits the longest for others in them, "
        f"{_time_text(most.waited_us)} in a step."
    )


def _nobody(report: "ArrivalReport") -> str:
    latest = max(report.ranks, key=lambda one: (one.own_us, -one.rank))
    if latest.limit_us is None:
        return (
            "Nobody is named: with so few ranks and steps nothing tells lateness from noise. "
            "Record more steps."
        )
    return (
        f"Nobody is named: rank {latest.rank}, the latest by its own work, is late by "
        f"{_time_text(latest.own_us)} in a step, and below {_time_text(latest.limit_us)} that is "
        "noise."
    )


def _time_text(time_us: float) -> str:
    """Write a time: in ms from one on."""
    return ms(time_us) if abs(time_us) >= 1e3 else f"{time_us:.1f} us"  # noqa: PLR2004


def _count(count: int, one: str) -> str:
    return f"1 {one}" if count == 1 else f"{count:,} {one}s"
