"""The last steps of a run, as its runtime saw them: gradients, launches, waits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import takewhile
from time import perf_counter_ns
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.transport import Work


@dataclass
class StartedLaunch:
    """A launch that has been started.

    Attributes
    ----------
    started
        When [us].
    running
        When it was last seen under way [us].
    ended
        When it was first seen to be over [us]; None until then.
    """

    started: float
    works: Sequence[Work]
    running: float
    ended: float | None = None


@dataclass
class MeasuredStep:
    """From one call of ``optimizer.step()`` to the next; times of one clock [us].

    Attributes
    ----------
    number
        From 0 on.
    begin
        When the call before it returned. None where that was not seen.
    held
        From when on compute can no longer run beside the launches of the step before: when that
        call returned, or where all buckets were waited for before it, the end of that wait.
    end
        When its call returned.
    left
        As ``held``, at its own end.
    awaited
        How many buckets were waited for after the last gradient.
    ready
        When the gradient of each parameter was ready.
    waits
        Stretches in which buckets were waited for.
    launches
        In order, those that were started in it.
    carried
        Launches of the step before, which may end in this one.
    """

    number: int
    begin: float | None
    held: float
    carried: Sequence[StartedLaunch] = ()
    end: float = 0.0
    left: float = 0.0
    awaited: int = 0
    ready: dict[str, float] = field(default_factory=dict)
    waits: list[tuple[float, float]] = field(default_factory=list)
    launches: list[StartedLaunch] = field(default_factory=list)


def host_clock() -> float:
    """Return the time of the host [us]."""
    return perf_counter_ns() / 1e3


class Recorder:
    """Observes a runtime; keeps its last steps.

    Nobody tells when a launch ends: at each event it is seen whether it has, which costs a fraction
    of a microsecond and disturbs nothing. The end of one that the run waits for is seen exactly.

    Parameters
    ----------
    size
        How many steps are kept.
    stepped
        Called after each step.
    clock
        Tells the time [us].

    Attributes
    ----------
    steps
        Those whose launches are over, in order.
    number
        Of the step under way.
    """

    def __init__(
        self,
        size: int,
        stepped: Callable[[], None],
        clock: Callable[[], float] = host_clock,
    ) -> None:
        self.steps: deque[MeasuredStep] = deque(maxlen=size)
        self._stepped = stepped
        self._clock = clock
        self._times: list[tuple[int, float]] = []
        self._last: float | None = None
        self.number = 0
        self.reset()

    def reset(self) -> None:
        """Forget all steps: what comes now is of another plan."""
        self.steps.clear()
        self._step = MeasuredStep(self.number, None, self._clock())
        self._before: MeasuredStep | None = None
        self._open: deque[StartedLaunch] = deque()
        self._awaited: tuple[float, StartedLaunch | None] = (0.0, None)

    def times(self) -> list[tuple[int, float]]:
        """Return number and time [us] of each step since the last call."""
        times, self._times = self._times, []
        return times

    def ready(self, parameter: str) -> None:
        """Note when a gradient is ready."""
        now = self._clock()
        self._look(now)
        self._step.awaited = 0
        self._step.ready[parameter] = now

    def launched(self, launch: int, works: Sequence[Work]) -> None:
        """Note when a launch is started."""
        now = self._clock()
        noted = StartedLaunch(now, works, now)
        self._step.launches.append(noted)
        self._open.append(noted)

    def awaited(self, bucket: int) -> None:
        """Note since when a bucket is waited for, if it has not come."""
        now = self._clock()
        self._look(now)
        self._step.awaited += 1
        self._awaited = now, (self._open[0] if self._open else None)

    def settled(self, bucket: int) -> None:
        """Note when a bucket came."""
        now = self._clock()
        since, first = self._awaited
        over = list(takewhile(_is_over, self._open))
        if over and over[0] is first:
            self._step.waits.append((since, now))
            over[-1].running = now  # its end is what was waited for
        self._look(now)

    def stepped(self) -> None:
        """Note that a step is over; a second optimizer's is part of the first one's."""
        now = self._clock()
        self._look(now)
        step = self._step
        if not step.ready:
            return
        if self._last is not None:
            self._times.append((step.number, now - self._last))
        step.end = self._last = now
        last = max(step.ready.values())
        step.left = max((end for begin, end in step.waits if end > last), default=now)
        before, self._before = self._before, step
        if before is not None and before.begin is not None:
            self.steps.append(before)
        self.number += 1
        self._step = MeasuredStep(self.number, now, step.left, carried=step.launches)
        self._stepped()

    def _look(self, now: float) -> None:
        """See which launches are over."""
        while self._open:
            launch = self._open[0]
            if not _is_over(launch):
                launch.running = now
                return
            launch.ended = now
            self._open.popleft()


def _is_over(launch: StartedLaunch) -> bool:
    return all(work.is_completed() for work in launch.works)
