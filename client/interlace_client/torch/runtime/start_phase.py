"""Steps that begin at agreed times, so that jobs that share links send one after another."""

from __future__ import annotations

import time
from collections.abc import Callable

#: A step that begins later than its time by up to this share of the period does not wait.
_LATE = 0.05


class StartPhase:
    """Holds back the begin of steps to an offset within a period.

    Time is that of the hosts since 1970, so that jobs on several of them mean the same offset: it
    is as exact as their clocks. Each rank waits by its own. A step whose time has just passed, by
    up to 5 % of the period, begins at once; one that is later, since steps have drifted, waits for
    the next time. Where steps take longer than the period that is once in so many steps that they
    are late by 5 %, and then costs nearly a period.

    Parameters
    ----------
    offset_us
        When in the period a step begins [us].
    period_us
        From the begin of a step to that of the next [us].
    clock
        Tells the time [us].
    sleep
        Waits [s].

    Attributes
    ----------
    waited_us
        How long steps have waited in all [us].
    aligned
        How many steps have waited.

    Raises
    ------
    ValueError
        When the period is not above 0, or the offset not within it.
    """

    def __init__(
        self,
        offset_us: float,
        period_us: float,
        *,
        clock: Callable[[], float] = lambda: time.time_ns() / 1e3,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not period_us > 0:
            raise ValueError(f"The period of steps must be above 0 us, got {period_us:g}.")
        if not 0 <= offset_us < period_us:
            raise ValueError(
                f"The offset of steps must be within their period of {period_us:g} us, got "
                f"{offset_us:g}."
            )
        self.offset_us, self.period_us = offset_us, period_us
        self._clock, self._sleep = clock, sleep
        self.waited_us, self.aligned = 0.0, 0

    def wait(self) -> None:
        """Wait until the step may begin."""
        late = (self._clock() - self.offset_us) % self.period_us
        if late <= _LATE * self.period_us:
            return
        left = self.period_us - late
        self._sleep(left / 1e6)
        self.waited_us += left
        self.aligned += 1


def refuse_held(phase: StartPhase | None) -> None:
    """Refuse to measure steps that wait for their times.

    Raises
    ------
    ValueError
        When a phase is held.
    """
    if phase is not None:
        raise ValueError(
            "The steps of this run are held to a phase, and their times hold that wait: set "
            "phase = None, measure, and hold it again afterwards."
        )
