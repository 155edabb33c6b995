"""A sweep that was kept, as a table and as plots."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from app.errors import InvalidRequest, NotFound
from app.schemas.sweeps import SweepAnswer, SweepCell
from app.services.sweeps.plots import Curve, Plot, draw
from solver.codes import FaultCode
from solver.errors import Fault
from solver.exports.csv_text import csv_text
from solver.policies import POLICIES
from solver.prediction.sweep import PLAN, Cell
from solver.simulation.knee import workers_text

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
)


def table(sweep: SweepAnswer) -> str:
    """Write a sweep as CSV: a row for each cell and policy, what is unknown empty."""
    return csv_text(_COLUMNS, _rows(sweep))


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
                int(label == cell.best),
                cell.compute_time_us,
                cell.lower_bound_us,
                int(cell.extrapolated),
            )


def speed_of(cell: SweepCell | Cell, time: float | None) -> float | None:
    """Return the speed at an iteration time [us], in workers that never wait."""
    return cell.workers * cell.compute_time_us / time if time else None


def middle(values: Iterable[Value]) -> Value:
    """Return the middle one of the distinct values, in their order."""
    distinct = list(dict.fromkeys(values))
    return distinct[len(distinct) // 2]


def by_workers(sweep: SweepAnswer, bandwidth_gbps: float | None, startup_us: float | None) -> bytes:
    """Draw speed against workers at one bandwidth and start-up; None takes the middle value.

    Raises
    ------
    InvalidRequest
        When the sweep does not have such a value.
    """
    bandwidth = _value("bandwidth_gbps", sweep.axes.bandwidths_gbps, bandwidth_gbps)
    startup = _value("startup_us", sweep.axes.startups_us, startup_us)
    at = "" if bandwidth is None else f"{bandwidth:g} Gbit/s, "
    return _drawn(
        sweep,
        lambda row: (row.bandwidth_gbps, row.startup_us) == (bandwidth, startup),
        f"{sweep.name or 'Sweep'}: {at}start-up {startup:g} us",
        ("workers", "workers"),
    )


def by_bandwidth(sweep: SweepAnswer, workers: int | None, startup_us: float | None) -> bytes:
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
    return _drawn(
        sweep,
        lambda row: (row.workers, row.startup_us) == (count, startup),
        f"{sweep.name or 'Sweep'}: {workers_text(count)}, start-up {startup:g} us",
        ("bandwidth_gbps", "bandwidth [Gbit/s]"),
    )


def plots(sweep: SweepAnswer) -> dict[str, bytes]:
    """Draw speed along each axis that is swept, at the middle of the others, by file name."""
    found = {}
    if len(sweep.axes.workers) > 1:
        found["speed-by-workers.svg"] = by_workers(sweep, None, None)
    if len(sweep.axes.bandwidths_gbps) > 1:
        found["speed-by-bandwidth.svg"] = by_bandwidth(sweep, None, None)
    return found


def _value(name: str, known: Sequence[Any], asked: float | None) -> Any:
    """Return the value that was asked for, else the middle one."""
    if asked is None:
        return middle(known)
    if asked not in known:
        have = ", ".join(f"{value:g}" for value in known if value is not None) or "none"
        detail = f"Query parameter {name}: the sweep has {have}; got {asked:g}."
        raise InvalidRequest([Fault(f"/query/{name}", FaultCode.OUT_OF_RANGE, detail)])
    return asked


def _drawn(
    sweep: SweepAnswer, within: Callable[[Any], bool], title: str, along: tuple[str, str]
) -> bytes:
    """Draw the cells of a row of the sweep."""
    field, words = along
    row = [cell for cell in sweep.cells if within(cell)]
    if not row:
        raise NotFound("No cell of this row is there: the sweep was cut short.")
    ends = {k.policy: k.value for k in sweep.knees if k.along == field and within(k)}
    return draw(
        Plot(
            title=title,
            along=words,
            xs=[getattr(cell, field) for cell in row],
            curves=[
                Curve(
                    policy.label,
                    style,
                    [speed_of(cell, cell.iteration_time_us[policy.label]) for cell in row],
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
    names = [PLAN, *POLICIES]
    taken: Counter[str] = Counter()
    for policy in sweep.policies:
        yield names.index(policy.policy) + len(names) * taken[policy.policy]
        taken[policy.policy] += 1
