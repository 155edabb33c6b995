"""Knees of a sweep: from where on more bandwidth, or more workers, gain nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from solver.prediction.sweep import Cell
from solver.simulation.knee import knee_of, workers_text


@dataclass(frozen=True, slots=True)
class Knee:
    """From where on more bandwidth, or more workers, gain nothing with a policy.

    Attributes
    ----------
    policy
        Its label.
    along
        What grows: ``bandwidth_gbps`` or ``workers``.
    workers, bandwidth_gbps, startup_us
        What is the same along the row; None for what grows, and for a bandwidth that does not
        count.
    value
        The least value of the sweep over which no larger one gains more than 1 %: in iteration
        time by bandwidth, in throughput (workers / iteration time) by workers. None when the
        largest gains more than that over the one before it.
    text
        The same in a sentence.
    """

    policy: str
    along: str
    workers: int | None
    bandwidth_gbps: float | None
    startup_us: float
    value: float | None
    text: str


def knees(cells: Sequence[Cell], labels: Sequence[str]) -> tuple[Knee, ...]:
    """Find the knees of a sweep: of each policy along each row of bandwidths, then of workers.

    A row of one cell has no knee, nor has a policy that is not defined.

    Parameters
    ----------
    cells
        Of distinct clusters, workers and bandwidths ascending along each row.
    labels
        Name of each policy.

    Notes
    -----
    O(cells x policies).
    """
    by_bandwidth = _rows(cells, lambda cell: (cell.workers, cell.startup_us))
    by_workers = _rows(cells, lambda cell: (cell.bandwidth_gbps, cell.startup_us))
    return (
        *(_by_bandwidth(*found) for found in _curves(by_bandwidth, labels)),
        *(_by_workers(*found) for found in _curves(by_workers, labels)),
    )


def _rows(cells: Sequence[Cell], key: Callable[[Cell], object]) -> list[list[Cell]]:
    rows: dict[object, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(key(cell), []).append(cell)
    return [row for row in rows.values() if len(row) > 1]


def _curves(
    rows: Sequence[Sequence[Cell]], labels: Sequence[str]
) -> Iterator[tuple[Sequence[Cell], str, list[float]]]:
    """Yield each row with each policy and its times [us] there."""
    for row in rows:
        for label, times in zip(
            labels, zip(*(cell.times for cell in row), strict=True), strict=True
        ):
            known = [time for time in times if time is not None]
            if known:
                yield row, label, known


def _by_bandwidth(row: Sequence[Cell], label: str, times: Sequence[float]) -> Knee:
    at = knee_of([_rate(1, time) for time in times])
    first = row[0]
    where = f"with {workers_text(first.workers)} and a start-up of {first.startup_us:g} us"
    if at is None:
        value = None
        text = f"{row[-1].bandwidth_gbps:g} Gbit/s, the most of the sweep, still gain more than 1 %"
    else:
        value = row[at].bandwidth_gbps
        text = f"beyond {value:g} Gbit/s nothing more than 1 % is gained"
    text = f"{label}: {text}, {where}."
    return Knee(label, "bandwidth_gbps", first.workers, None, first.startup_us, value, text)


def _by_workers(row: Sequence[Cell], label: str, times: Sequence[float]) -> Knee:
    at = knee_of([_rate(cell.workers, time) for cell, time in zip(row, times, strict=True)])
    first = row[0]
    speed = first.bandwidth_gbps
    where = "" if speed is None else f"at {speed:g} Gbit/s and "
    where += f"with a start-up of {first.startup_us:g} us"
    if at is None:
        text = f"{workers_text(row[-1].workers)}, the most of the sweep, still gain more than 1 %"
    else:
        text = f"beyond {workers_text(row[at].workers)} throughput gains no more than 1 %"
    text = f"{label}: {text}, {where}."
    value = None if at is None else row[at].workers
    return Knee(label, "workers", None, speed, first.startup_us, value, text)


def _rate(work: int, time: float) -> float:
    """Return work per time, to be compared and not to be told."""
    return work / time if time > 0 else inf
