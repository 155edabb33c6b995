"""The grid problem of a plan's buckets: one bucket a slot, start-up once a bucket."""

from collections.abc import Callable
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.limits import MAX_SLOTS
from solver.schedule.jackson import jackson
from solver.schedule.jobs import Jobs, PreemptiveSchedule, on_grid

#: More slots than this are not told apart.
_COUNTED = 1e15


class SlotSchedule(NamedTuple):
    """A schedule in whole slots of ``slot`` [us], and the grid jobs it serves."""

    slot: float
    grid: Jobs
    schedule: PreemptiveSchedule


def on_slots(
    jobs: Jobs, slot_us: float | None, scheduler: Callable[[Jobs], PreemptiveSchedule]
) -> SlotSchedule:
    """Round jobs [us] up to slots and schedule them.

    Parameters
    ----------
    jobs
        Releases, durations and tails of the buckets [us].
    slot_us
        Slot [us]; None takes the shortest duration, coarser when that needs more than
        :data:`MAX_SLOTS` slots.
    scheduler
        What solves the grid.

    Raises
    ------
    InvalidOptions
        When a given slot needs more than :data:`MAX_SLOTS` slots.
    """
    if slot_us is None:
        slot = _choose(jobs)
    else:
        slot = slot_us
        needed = _needed(jobs, slot)
        if needed > MAX_SLOTS:
            raise InvalidOptions(
                [
                    Fault(
                        "/slot_us",
                        FaultCode.SLOT_TOO_SMALL,
                        f"slot_us {slot:g} needs {needed:.6g} slots, more than {MAX_SLOTS:,}; "
                        f"{1.00001 * _coarse(jobs, slot):.6g} is enough.",
                    )
                ]
            )
    grid = on_grid(jobs, slot)
    return SlotSchedule(slot, grid, scheduler(grid))


def _needed(jobs: Jobs, slot: float) -> float:
    """Count the slots from 0 to the end of the iteration; at most :data:`_COUNTED`."""
    ideal = min(jackson(jobs).value / slot, _COUNTED)
    return ideal if ideal > MAX_SLOTS else jackson(on_grid(jobs, slot)).value


def _choose(jobs: Jobs) -> float:
    """Take the shortest positive duration, or the next coarser slot that needs few enough."""
    positive = jobs.duration[jobs.duration > 0]
    return _coarse(jobs, float(positive.min()) if positive.size else max(jackson(jobs).value, 1.0))


def _coarse(jobs: Jobs, slot: float) -> float:
    """Coarsen a slot until it needs at most :data:`MAX_SLOTS`."""
    while (needed := _needed(jobs, slot)) > MAX_SLOTS:
        slot *= 1.001 * needed / MAX_SLOTS
    return slot
