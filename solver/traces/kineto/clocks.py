"""Times of a recording that contradict each other: a stream runs one kernel at a time, in order.

What is said takes the gain where it is much of a step. Less of it happens: kernels of a stream
that launch each other early overlap by a few us, and clocks of GPU and CPU are apart by as much.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from solver.traces.channel_times import RESOLUTION_US, overlaps_of
from solver.traces.kineto.categories import GPU, RUNTIME
from solver.traces.kineto.events import KinetoEvent
from solver.traces.kineto.known_works import NONE_KNOWN, Floats, KnownWorks
from solver.traces.sentences import counted

_EARLY = "kernel begins before its call", "kernels begin before their calls"
#: From what share of a step on a contradiction takes the gain.
_MUCH = 0.03


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Times that cannot be.

    Attributes
    ----------
    said
        Which, in a sentence.
    time
        By how much [us].
    """

    said: str
    time: float

    def is_much(self, step_us: float) -> bool:
        """Tell whether it is so much of a step of this length that no gain can be claimed."""
        return self.time > _MUCH * step_us


def contradictions(
    events: Sequence[KinetoEvent], known: KnownWorks = NONE_KNOWN
) -> Iterator[Contradiction]:
    """Find kernels that run while another of their stream does, or before the call of theirs.

    Notes
    -----
    O(n log n) for n events.
    """
    streams: dict[tuple[str, str], list[KinetoEvent]] = {}
    rows: dict[tuple[int | str | None, int | str | None], list[KinetoEvent]] = {}
    calls = {number: call.start for number, call in known.calls.items()}
    for event in events:
        kind = (event.cat or "").lower()
        if kind in GPU:
            where = event.pid, event.tid
            if where not in rows:
                rows[where] = streams.setdefault((str(event.pid), str(event.tid)), [])
            rows[where].append(event)
        elif kind in RUNTIME and event.args and event.args.correlation is not None:
            calls.setdefault(event.args.correlation, event.start)
    overlaps = [
        time
        for where in dict.fromkeys((*streams, *known.streams))
        for time in _overlaps(streams.get(where, ()), known.streams.get(where))
    ]
    if overlaps:
        yield Contradiction(
            f"{counted(len(overlaps), 'kernel begins', 'kernels begin')} while another of the same "
            f"stream of the GPU runs, by up to {max(overlaps):,.3f} us, {sum(overlaps):,.3f} us in "
            "all: a stream runs one at a time.",
            sum(overlaps),
        )
    early = [*_early(streams.values(), calls), *_above(known.early)]
    if early:
        yield Contradiction(
            f"{counted(len(early), *_EARLY)} on the CPU, by up to {max(early):,.3f} us: the clocks "
            "of GPU and CPU are apart, or the correlation ids are wrong.",
            max(early),
        )


def _overlaps(events: Sequence[KinetoEvent], more: tuple[Floats, Floats] | None) -> list[float]:
    """Return for how long kernels of a stream ran at once with those that began before [us]."""
    if more is None:
        return list(overlaps_of(events))
    starts = np.concatenate([more[0], [event.start for event in events]])
    ends = np.concatenate([more[1], [event.end for event in events]])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    until = np.maximum.accumulate(ends)[:-1]
    return _above(np.minimum(until, ends[1:]) - starts[1:])


def _above(times: Floats) -> list[float]:
    """Return the times above what is told apart [us]."""
    found: list[float] = times[times > RESOLUTION_US].tolist()
    return found


def _early(rows: Iterable[Sequence[KinetoEvent]], calls: dict[int, float]) -> Iterator[float]:
    """Yield by how much kernels begin before their calls [us]."""
    for row in rows:
        for event in row:
            call = calls.get(event.args.correlation or 0) if event.args else None
            if call is not None and call - event.start > RESOLUTION_US:
                yield call - event.start
