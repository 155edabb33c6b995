"""A sweep that was kept, as a table and as plots."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from app.errors import InvalidRequest, NotFound
from app.schemas.sweeps import SweepAnswer, SweepCell
from app.services.sweeps.plots import Plot, SpeedCurve, draw
from solver.codes import FaultCode
from solver.errors import Fault
from solver.exports.csv_text import csv_text
from solver.policies import POLICIES
from solver.prediction.sweep import PLAN, Cell, share_saved
from solver.programs.policies import POLICIES as PROGRAM_POLICIES
from solver.simulation.knee import workers_text
from solver.wording import memory_size

Value = TypeVar("Value")


_COLUMNS = (
    "workers",
    "bandwidth_gbps",
    "startup_us",
    "policy",
    "iteration_time_us",
    "scaling_factor",
    "speed",
    "best",
    "compute_time_us",
    "lower_bound_us",
    "extrapolated",
    "over",
    "gain",
)


#: What a sweep of programs has besides.
_OF_PROGRAMS = ("memory_limit_bytes", "peak_bytes", "status")


def table(sweep: SweepAnswer) -> str:
    """Write a sweep as CSV: a row for each cell and policy, what is unknown empty."""
    is_of_programs = any(cell.peak_bytes is not None for cell in sweep.cells)
    return csv_text(_COLUMNS + is_of_programs * _OF_PROGRAMS, _rows(sweep))


def _rows(sweep: SweepAnswer) -> Iterator[tuple[Any, ...]]:
    for cell in sweep.cells:
        for label, time in cell.iteration_time_us.items():
            speed = speed_of(cell, time)
            yield (
                cell.workers,
                cell.bandwidth_gbps,
                cell.startup_us,
                label,
                time,
                None if speed is None else speed / cell.workers,
                speed,
                int(label in fastest(cell)),
                cell.compute_time_us,
                cell.lower_bound_us,
                int(cell.extrapolated),
                *_over(cell, time),
                *_program_columns(cell, label),
            )


def _over(cell: SweepCell, time: float | None) -> tuple[str | None, float | None]:
    """Return what you run in a cell, the first of it, and the share that a time saves over it."""
    first = next(iter(cell.gains), None)
    if first is None:
        return None, None
    return first.over, share_saved(first.today_us, time)


def _program_columns(cell: SweepCell, label: str) -> tuple[Any, ...]:
    if cell.peak_bytes is None:
        return ()
    status = cell.status if label == PLAN else None
    return cell.memory_limit_bytes, cell.peak_bytes[label], status


def kept_time(cell: SweepCell, label: str) -> float | None:
    """Return the time of a policy [us]; None where it has none, or takes too much memory."""
    peak = (cell.peak_bytes or {}).get(label)
    limit = cell.memory_limit_bytes
    is_above = limit is not None and peak is not None and peak > limit
    return None if is_above else cell.iteration_time_us[label]


def fastest(cell: SweepCell) -> list[str]:
    """Name the policies that are as fast as the best of a cell, in their order."""
    if cell.fastest or cell.best is None:
        return cell.fastest
    return [cell.best]


def speed_of(cell: SweepCell | Cell, time: float | None) -> float | None:
    """Return the speed at an iteration time [us], in workers that never wait."""
    return cell.workers * cell.compute_time_us / time if time else None


def middle(values: Iterable[Value]) -> Value:
    """Return the middle one of the distinct values, in their order."""
    distinct = list(dict.fromkeys(values))
    return distinct[len(distinct) // 2]


def by_workers(
    sweep: SweepAnswer,
    bandwidth_gbps: float | None,
    startup_us: float | None,
    memory_limit_bytes: int | None = None,
) -> bytes:
    """Draw speed against workers at one bandwidth and start-up; None takes the middle value.

    Of programs also at one limit of memory, where limits are swept.

    Raises
    ------
    InvalidRequest
        When the sweep does not have such a value.
    """
    bandwidth = _value("bandwidth_gbps", sweep.axes.bandwidths_gbps, bandwidth_gbps)
    startup = _value("startup_us", sweep.axes.startups_us, startup_us)
    limit = _limit(sweep, memory_limit_bytes)
    at = "" if bandwidth is None else f"{bandwidth:g} Gbit/s, "
    return _drawn(
        sweep,
        lambda row: (row.bandwidth_gbps, row.startup_us) == (bandwidth, startup),
        limit,
        f"{sweep.name or 'Sweep'}: {at}start-up {startup:g} us{_within(limit)}",
        ("workers", "workers"),
    )


def by_bandwidth(
    sweep: SweepAnswer,
    workers: int | None,
    startup_us: float | None,
    memory_limit_bytes: int | None = None,
) -> bytes:
    """Draw speed against bandwidth with so many workers and one start-up, as :func:`by_workers`.

    Raises
    ------
    InvalidRequest
        When the sweep does not have such a value.
    NotFound
        When its cost has no bandwidth.
    """
    if None in sweep.axes.bandwidths_gbps:
        raise NotFound("This sweep has no bandwidth: its cost was measured.")
    count = _value("workers", sweep.axes.workers, workers)
    startup = _value("startup_us", sweep.axes.startups_us, startup_us)
    limit = _limit(sweep, memory_limit_bytes)
    return _drawn(
        sweep,
        lambda row: (row.workers, row.startup_us) == (count, startup),
        limit,
        f"{sweep.name or 'Sweep'}: {workers_text(count)}, start-up {startup:g} us{_within(limit)}",
        ("bandwidth_gbps", "bandwidth [Gbit/s]"),
    )


def by_memory(
    sweep: SweepAnswer,
    workers: int | None,
    bandwidth_gbps: float | None,
    startup_us: float | None,
) -> bytes:
    """Draw speed against the limit of memory on one cluster, as :func:`by_workers`.

    Raises
    ------
    InvalidRequest
        When the sweep does not have such a value.
    NotFound
        When no limits are swept.
    """
    if sweep.axes.memory_limits_bytes is None:
        raise NotFound("This sweep has no limits of memory.")
    count = _value("workers", sweep.axes.workers, workers)
    bandwidth = _value("bandwidth_gbps", sweep.axes.bandwidths_gbps, bandwidth_gbps)
    startup = _value("startup_us", sweep.axes.startups_us, startup_us)
    return _drawn(
        sweep,
        lambda row: (
            (row.workers, row.bandwidth_gbps, row.startup_us) == (count, bandwidth, startup)
        ),
        None,
        sweep.name or "Sweep",
        ("memory_limit_bytes", "memory limit [bytes]"),
    )


def _limit(sweep: SweepAnswer, limit_bytes: int | None) -> int | None:
    """Return the limit of memory that is drawn; None where none is swept."""
    limits = sweep.axes.memory_limits_bytes
    if limits is None and limit_bytes is None:
        return None
    limit: int = _value("memory_limit_bytes", limits or [], limit_bytes)
    return limit


def _within(limit: int | None) -> str:
    return "" if limit is None else f", {memory_size(limit)} of memory"


def plots(sweep: SweepAnswer) -> dict[str, bytes]:
    """Draw speed along each axis that is swept, at the middle of the others, by file name."""
    drawings = {}
    if len(sweep.axes.workers) > 1:
        drawings["speed-by-workers.svg"] = by_workers(sweep, None, None)
    if len(sweep.axes.bandwidths_gbps) > 1:
        drawings["speed-by-bandwidth.svg"] = by_bandwidth(sweep, None, None)
    if len(sweep.axes.memory_limits_bytes or ()) > 1:
        drawings["speed-by-memory.svg"] = by_memory(sweep, None, None, None)
    return drawings


def _value(name: str, values: Sequence[Any], chosen: float | None) -> Any:
    """Return the value that was asked for, else the middle one."""
    if chosen is None:
        return middle(values)
    if chosen not in values:
        have = ", ".join(f"{value:g}" for value in values if value is not None) or "none"
        detail = f"Query parameter {name}: the sweep has {have}; got {chosen:g}."
        raise InvalidRequest([Fault(f"/query/{name}", FaultCode.OUT_OF_RANGE, detail)])
    return chosen


def _drawn(
    sweep: SweepAnswer,
    within: Callable[[Any], bool],
    limit: int | None,
    title: str,
    along: tuple[str, str],
) -> bytes:
    """Draw the cells of a row of the sweep, those of one limit of memory where one is said."""
    field, words = along
    row = [
        cell
        for cell in sweep.cells
        if within(cell) and (limit is None or cell.memory_limit_bytes == limit)
    ]
    if not row:
        raise NotFound("No cell of this row is there: the sweep was cut short.")
    ends = {k.policy: k.value for k in sweep.knees if k.along == field and within(k)}
    return draw(
        Plot(
            title=title,
            along=words,
            xs=[getattr(cell, field) for cell in row],
            curves=[
                SpeedCurve(
                    policy.label,
                    style,
                    [speed_of(cell, kept_time(cell, policy.label)) for cell in row],
                    ends.get(policy.label),
                )
                for policy, style in zip(sweep.policies, _styles(sweep), strict=True)
            ],
            bound=[cell.speed_bound for cell in row],
            ideal=[float(cell.workers) for cell in row],
        )
    )


def _styles(sweep: SweepAnswer) -> Iterator[int]:
    """Yield a style for each policy: its own, whatever it is compared with."""
    is_of_rules = any(policy.policy in PROGRAM_POLICIES for policy in sweep.policies)
    names = [PLAN, *(PROGRAM_POLICIES if is_of_rules else POLICIES)]
    taken: Counter[str] = Counter()
    for policy in sweep.policies:
        yield names.index(policy.policy) + len(names) * taken[policy.policy]
        taken[policy.policy] += 1
