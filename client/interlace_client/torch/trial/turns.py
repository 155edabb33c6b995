"""Which arm makes the next step of a trial, which steps count, and when they are enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from interlace_client.torch.trial.outcome import ArmTimes, TrialOutcome, decide, finalists

#: A trial takes so many steps at the most, of all arms together.
MOST_STEPS = 40

#: Steps that do not count after a change of arms. A DistributedDataParallel deals its buckets anew
#: in its second step.
WARM = 2

#: Measured steps of a turn, of two arms and of more.
_OF_TWO, _OF_MORE = 4, 3

#: What the intervals of a first and a second look leave out at each end, together as much as one.
_FIRST, _SECOND = 0.02, 0.03


class Turns:
    """Deals the steps of a trial to its arms, until they decide or there have been enough.

    All arms take turns, there and back, so that a drift of the machine meets all alike. Then the
    steps are looked at: where the interval of the gain lies on one side of what a plan must win,
    that decides. Else the best of each kind take turns again, there and back, as often as
    ``MOST_STEPS`` allow, and what is known then decides.

    Parameters
    ----------
    arms
        Without steps; one that stays unless it is beaten, and one that must beat it, at the least.
    promised
        The gain that was planned; None where that is not known.
    rival
        The place of the arm that must be beaten; None is all that are no plan.

    Attributes
    ----------
    steps
        How many have been made.

    Notes
    -----
    An arm that must beat another by 1 % and does not in truth is kept in at most 5 % of trials: a
    look is wrong in 2 % and 3 % at the most, whatever the other says (Bonferroni), and a look that
    ends a trial for what was there before takes nothing back from that. This supposes what the
    interval does (:func:`~interlace_client.torch.trial.outcome.gain_interval`); with more than two
    arms also that the choice of the best of each kind by the same steps does not count.
    """

    def __init__(
        self, arms: Sequence[ArmTimes], promised: float | None = None, rival: int | None = None
    ) -> None:
        self._arms, self._promised, self._rival = list(arms), promised, rival
        self.steps = 0
        self._measured = _OF_TWO if len(arms) == 2 else _OF_MORE  # noqa: PLR2004 - of two arms
        self._pair: tuple[int, int] | None = None
        self._due = deque(there_and_back(range(len(arms)), self._measured))

    @property
    def arm(self) -> int:
        """The arm that makes the next step, by its place."""
        return self._due[0][0]

    @property
    def times(self) -> list[list[float]]:
        """The measured steps of each arm [us]."""
        return [list(arm.steps_us) for arm in self._arms]

    def note(self, time_us: float) -> bool:
        """Hear what a step took [us]; return whether ``look`` comes before the next."""
        arm, counts = self._due.popleft()
        self.steps += 1
        if counts:
            before = self._arms[arm]
            self._arms[arm] = replace(before, steps_us=(*before.steps_us, time_us))
        return not self._due

    def look(self, times: Sequence[Sequence[float]]) -> TrialOutcome | None:
        """Decide by the times of the slowest rank; None where more steps are to be made.

        Parameters
        ----------
        times
            As ``times``, of all ranks the largest [us].
        """
        self._arms = [replace(arm, steps_us=tuple(own)) for arm, own in zip(self._arms, times)]
        is_first = self._pair is None
        if self._pair is None:
            self._pair = finalists(self._arms, self._rival)
        more = self._room() if is_first else 0
        tail = _FIRST + _SECOND if is_first and not more else _FIRST if is_first else _SECOND
        outcome = decide(self._arms, self._pair, self._promised, tail)
        if not more or outcome.is_sure:
            return outcome
        new, old = self._pair
        self._due.extend(there_and_back((old, new), more))
        return None

    def _room(self) -> int:
        """Return how many measured steps of a turn there are left for two arms."""
        left = MOST_STEPS - self.steps - 3 * WARM
        return min(self._measured, max(0, left) // 4)


def there_and_back(arms: Sequence[int], measured: int) -> Iterator[tuple[int, bool]]:
    """Yield the arm of each step, and whether its time counts; the arm in the middle goes on."""
    last = None
    for arm in (*arms, *reversed(arms)):
        if arm != last:
            yield from ((arm, False) for _ in range(WARM))
        yield from ((arm, True) for _ in range(measured))
        last = arm
