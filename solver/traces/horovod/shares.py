"""Where the time of communication went, divided as OSF measures it (section 3.3).

The time of a tensor from its release to its result has five parts. ``negotiate`` lasts until all
ranks are ready; ``wait`` is until the response is fused and begun, for the data of the other
tensors of the buffer, and for the operation before it; ``all_reduce`` is the operation itself;
``memcpy`` are the copies into buffers and out of them; ``other`` is what is left: waiting for the
tensor's own data, allocation, set-up. OSF calls the last two MISC.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

from solver.traces.communication import (
    MEMCPY,
    NEGOTIATE,
    OPERATE,
    OTHER,
    PARTS,
    WAIT,
    Communication,
    RecordedBucket,
    Share,
)
from solver.traces.horovod.launches import KINDS, TensorLaunch
from solver.traces.horovod.steps import TimelineStep, buffers

_WAITS = {"QUEUE", "WAIT_FOR_OTHER_TENSOR_DATA"}
_COPIES = ("MEMCPY_", "COPY_")


def parts_of(launch: TensorLaunch) -> dict[str, float]:
    """Divide the time of a tensor from its release to its result [us]; the parts add up to it."""
    parts = dict.fromkeys(PARTS, 0.0)
    parts[NEGOTIATE] = launch.decided - launch.ready
    parts[WAIT] = launch.start - launch.decided
    parts[OTHER] = launch.end - launch.start
    for activity in launch.activities:
        if activity.is_operation:
            part = OPERATE
        elif activity.name.startswith(_COPIES):
            part = MEMCPY
        elif activity.name in _WAITS:
            part = WAIT
        else:
            continue
        parts[part] += activity.end - activity.start
        parts[OTHER] -= activity.end - activity.start
    return parts


def communication(
    steps: Sequence[TimelineStep],
    chosen: TimelineStep,
    sizes: Mapping[str, int],
    cycle: float | None,
) -> Communication:
    """Sum up how the steps communicated, and list the buffers of the chosen one.

    Parameters
    ----------
    steps
        The regular ones; all tensors of all count alike.
    chosen
        One of them.
    sizes
        Bytes of all its tensors.
    cycle
        Median time between Horovod's cycles [us]; None where they are not marked.

    Notes
    -----
    O(launches).
    """
    launches = [launch for step in steps for launch in step.launches]
    divided = [parts_of(launch) for launch in launches]
    sums = {part: sum(parts[part] for parts in divided) for part in PARTS}
    total = sum(sums.values())
    heard = [launch.ranks for launch in launches if len(launch.ranks) > 1]
    last = Counter(ranks[-1][0] for ranks in heard)
    return Communication(
        tensors=len(chosen.launches),
        buffers=tuple(_buffers(chosen, sizes)),
        shares={
            part: Share(
                round(time / len(launches), 3), round(time / total, 6) if total > 0 else None
            )
            for part, time in sums.items()
        },
        skew_us=round(mean(ranks[-1][1] - ranks[0][1] for ranks in heard), 3) if heard else None,
        last_worker=min(last, key=lambda rank: (-last[rank], rank)) if heard else None,
        cycle_us=None if cycle is None else round(cycle, 3),
    )


def _buffers(step: TimelineStep, sizes: Mapping[str, int]) -> Iterator[RecordedBucket]:
    for group in buffers(step.launches):
        yield RecordedBucket(
            kind=KINDS[group[0].operation],
            tensors=tuple(launch.tensor for launch in group),
            bytes=sum(sizes[launch.tensor] for launch in group),
            released_us=round(min(launch.ready for launch in group) - step.begin, 3),
            decided_us=round(max(launch.decided for launch in group) - step.begin, 3),
            start_us=round(min(launch.start for launch in group) - step.begin, 3),
            end_us=round(max(launch.end for launch in group) - step.begin, 3),
            time_us=round(group[0].time, 3),
        )
