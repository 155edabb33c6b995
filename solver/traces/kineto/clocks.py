"""Times of a recording that contradict each other: a stream runs one kernel at a time, in order.

What is said takes the gain where it is much of a step. Less of it happens: kernels of a stream
that launch each other early overlap by a few us, and clocks of GPU and CPU are apart by as much.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from solver.traces.channel_times import RESOLUTION_US, overlaps_of
from solver.traces.kineto.categories import GPU, RUNTIME
from solver.traces.kineto.events import KinetoEvent
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


def contradictions(events: Sequence[KinetoEvent]) -> Iterator[Contradiction]:
    """Find kernels that run while another of their stream does, or before the call of theirs.

    Notes
    -----
    O(n log n) for n events.
    """
    streams: dict[tuple[str, str], list[KinetoEvent]] = {}
    rows: dict[tuple[int | str | None, int | str | None], list[KinetoEvent]] = {}
    calls: dict[int, float] = {}
    for event in events:
        kind = (event.cat or "").lower()
        if kind in GPU:
            where = event.pid, event.tid
            if where not in rows:
                rows[where] = streams.setdefault((str(event.pid), str(event.tid)), [])
            rows[where].append(event)
        elif kind in RUNTIME and event.args and event.args.correlation is not None:
            calls.setdefault(event.args.correlation, event.start)
    overlaps = [time for row in streams.values() for time in overlaps_of(row)]
    if overlaps:
        yield Contradiction(
            f"{counted(len(overlaps), 'kernel begins', 'kernels begin')} while another of the same "
            f"stream of the GPU runs, by up to {max(overlaps):,.3f} us, {sum(overlaps):,.3f} us in "
            "all: a stream runs one at a time.",
            sum(overlaps),
        )
    early = list(_early(streams.values(), calls))
    if early:
        yield Contradiction(
            f"{counted(len(early), *_EARLY)} on the CPU, by up to {max(early):,.3f} us: the clocks "
            "of GPU and CPU are apart, or the correlation ids are wrong.",
            max(early),
        )


def _early(rows: Iterable[Sequence[KinetoEvent]], calls: dict[int, float]) -> Iterator[float]:
    """Yield by how much kernels begin before their calls [us]."""
    for row in rows:
        for event in row:
            call = calls.get(event.args.correlation or 0) if event.args else None
            if call is not None and call - event.start > RESOLUTION_US:
                yield call - event.start
