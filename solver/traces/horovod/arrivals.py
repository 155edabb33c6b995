"""When ranks were ready for their tensors, as the coordinator heard it: on its clock alone."""

from collections.abc import Iterator, Sequence
from itertools import count
from math import nan

from solver.arrivals.arrival import Arrival
from solver.arrivals.report import ArrivalReport, arrival_report
from solver.graph import NETWORK
from solver.traces.horovod.launches import KINDS
from solver.traces.horovod.steps import TimelineStep


def arrivals_of(steps: Sequence[TimelineStep]) -> ArrivalReport | None:
    """Judge who comes late; None where the timeline names no two ranks.

    All ranks begin a step when the one before is over: its last operation has ended. A response
    that was cached names no rank, and counts for none. Of the network nothing is said: what a
    tensor takes from the last rank on holds cycles and the tensors that it is fused with, so bytes
    are left unknown.

    Parameters
    ----------
    steps
        The regular ones, by begin.

    Notes
    -----
    O(n log n) for n ranks that were ready.
    """
    return arrival_report(list(_arrivals(steps, is_overlapped=any(map(_overlaps, steps)))))


def _overlaps(step: TimelineStep) -> bool:
    """Tell whether a tensor is ready before the operation of an earlier one has ended."""
    over = step.launches[0].end
    for launch in step.launches[1:]:
        if launch.ready < over:
            return True
        over = max(over, launch.end)
    return False


def _arrivals(steps: Sequence[TimelineStep], *, is_overlapped: bool) -> Iterator[Arrival]:
    numbers = count()
    place, over, expected = 0, nan, nan
    for step in steps:
        is_next = step.begin == expected
        place += 1 if is_next else 2  # of steps that are not next to each other none is the next
        since = (over if is_next else nan) if is_overlapped else None
        for launch in step.launches:
            number, kind, end = next(numbers), KINDS[launch.operation], launch.operated[1]
            for rank, ready in launch.ranks:
                yield Arrival(
                    rank,
                    place,
                    launch.tensor,
                    NETWORK,
                    NETWORK,
                    number,
                    kind,
                    None,
                    ready,
                    end,
                    since,
                )
        over, expected = step.end, nan if step.next is None else step.next
