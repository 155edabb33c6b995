"""How long an iteration takes beside its compute alone: what is exposed, hidden, and scales."""

from typing import NamedTuple

from solver.chain import Chain
from solver.simulation.engine import Timeline


class IterationTimes(NamedTuple):
    """How long an iteration takes, and its compute alone; what follows from both.

    Exposed is the difference. Overlap is 1 - exposed / time of all launches, clipped to 0..1
    (MODEL.md section 2.2); None when nothing is sent. The scaling factor is None when the iteration
    takes no time.
    """

    iteration_time_us: float
    compute_time_us: float
    exposed_us: float
    overlap: float | None
    scaling_factor: float | None


def iteration_times(chain: Chain, timeline: Timeline) -> IterationTimes:
    """Compare an iteration with its compute alone."""
    launched = sum(launch.end - launch.start for launch in timeline.launches)
    return times_beside(timeline.iteration_time, chain.compute_time, launched)


def times_beside(total: float, compute: float, launched: float) -> IterationTimes:
    """Compare an iteration with its compute alone, and with the time of all its launches [us]."""
    exposed = max(0.0, total - compute)
    return IterationTimes(
        total,
        compute,
        exposed,
        min(1.0, max(0.0, 1 - exposed / launched)) if launched > 0 else None,
        min(1.0, compute / total) if total > 0 else None,
    )
