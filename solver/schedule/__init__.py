"""Preemptive schedules of jobs on one channel, called alike: ``scheduler(jobs) -> Schedule``."""

from collections.abc import Callable

from solver.schedule.jackson import jackson
from solver.schedule.jobs import Critical, Jobs, PreemptiveSchedule, ServicePiece, on_grid
from solver.schedule.lp import lp

#: The schedulers by name; add one here. ``lp`` takes whole slots only.
SCHEDULERS: dict[str, Callable[[Jobs], PreemptiveSchedule]] = {"jackson": jackson, "lp": lp}

__all__ = [
    "SCHEDULERS",
    "Critical",
    "Jobs",
    "PreemptiveSchedule",
    "ServicePiece",
    "jackson",
    "lp",
    "on_grid",
]
