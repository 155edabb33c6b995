"""What the measured steps of a trial decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, hypot, log, sqrt
from statistics import mean, median
from typing import Any

#: A plan stays where its gain is above this: half of the 1 % within which two arms count as alike.
LEAST = 1.005

#: And its interval is above this: where steps cannot tell whether it takes a tenth more, they tell
#: nothing.
WORST = 0.9

#: Of an arm's steps the fastest count: what disturbs a step makes it longer, not shorter.
_COUNTED = 2 / 3

#: The interval reaches so many standard errors to either side.
_ERRORS = 2.0


@dataclass(frozen=True)
class ArmTimes:
    """An arm of a trial and its measured steps.

    Attributes
    ----------
    name
        What ran, in words.
    is_plan
        Whether it is the plan, not DistributedDataParallel.
    steps_us
        Time of each measured step, of the slowest rank [us].
    """

    name: str
    is_plan: bool
    steps_us: tuple[float, ...]

    @property
    def median_us(self) -> float:
        """The median of the steps [us]."""
        return median(self.steps_us)

    @property
    def typical_us(self) -> float:
        """The geometric mean of the fastest two thirds of the steps [us]."""
        return exp(mean(self._counted))

    @property
    def error(self) -> float:
        """The standard error of the logarithm of ``typical_us``.

        That of a trimmed mean: the spread where each step left out is as long as the longest that
        counts.

        References
        ----------
        K. K. Yuen, The two-sample trimmed t for unequal population variances, Biometrika 61, 1974.
        """
        counted = self._counted
        kept, left_out = len(counted), len(self.steps_us) - len(counted)
        steps = [*counted, *[counted[-1]] * left_out]
        middle = mean(steps)
        return sqrt(sum((step - middle) ** 2 for step in steps) / (kept * (kept - 1)))

    @property
    def _counted(self) -> list[float]:
        """Logarithms of the steps that count, ascending."""
        return sorted(map(log, self.steps_us))[: round(_COUNTED * len(self.steps_us))]


@dataclass(frozen=True)
class TrialOutcome:
    """What is kept after a trial, and why.

    Attributes
    ----------
    arms
        All, in the order in which they were tried.
    kept
        The arm that goes on, by its place.
    is_planned
        Whether that is a plan.
    gain, gain_low, gain_high
        Time of what goes on unless it is beaten, as the best of DistributedDataParallel, over time
        of the best other plan, by :func:`gain_over`.
    promised
        The same as it was planned; None where that was not said.
    sentence
        All of it in words.
    """

    arms: tuple[ArmTimes, ...]
    kept: int
    is_planned: bool
    gain: float
    gain_low: float
    gain_high: float
    promised: float | None
    sentence: str

    @property
    def is_sure(self) -> bool:
        """Whether all of the interval lies on one side of what a plan must win."""
        return self.gain_low > LEAST or self.gain_high <= LEAST

    def report(self, before_step: int = 0) -> dict[str, Any]:
        """Write it as ``POST /v1/runs/{id}/trials`` takes it, and Steering.

        ``before_step`` is the first step after it, as the run counts them.
        """
        return {
            "before_step": before_step,
            "arms": [
                {"name": arm.name, "is_plan": arm.is_plan, "median_us": arm.median_us}
                for arm in self.arms
            ],
            "kept": self.kept,
            "promised": self.promised,
            "gain": self.gain,
            "gain_low": self.gain_low,
            "gain_high": self.gain_high,
            "why": self.sentence,
        }


def finalists(arms: Sequence[ArmTimes], rival: int | None = None) -> tuple[int, int]:
    """Return the arm that is to win, and the one that goes on unless it does, by their places.

    Each is the best of its kind: that with the least typical step, and of equals the first.

    Parameters
    ----------
    arms
        At least one of each kind.
    rival
        The place of the one that goes on; None is the best that is no plan.
    """
    order = sorted(range(len(arms)), key=lambda k: (arms[k].typical_us, k))
    if rival is None:
        rival = next(k for k in order if not arms[k].is_plan)
    return next(k for k in order if arms[k].is_plan and k != rival), rival


def decide(
    arms: Sequence[ArmTimes],
    pair: tuple[int, int],
    promised: float | None = None,
) -> TrialOutcome:
    """Decide by measured steps alone.

    A plan stays where it is the faster one by more than half a percent, and its interval rules out
    that it takes a tenth more; else what was there before goes on. The interval does not count that
    the same steps may have chosen the two.

    Parameters
    ----------
    arms
        All.
    pair
        Places of the arm that is to win, and of the other.
    promised
        The gain that was planned.

    Notes
    -----
    Of the rules that ``tests/torch/test_trial_errors.py`` describes this one was right most often,
    in simulated trials of all gains: what is kept is within 1 % of the best in 93 of 100 on a busy
    machine, where an interval above 1 % keeps that in 77.
    """
    new, old = (arms[k] for k in pair)
    gain, low, high = gain_over(new, old)
    kept = pair[0] if gain > LEAST and low > WORST else pair[1]
    sentence = _sentence(new, old, (gain, low, high), promised)
    return TrialOutcome(tuple(arms), kept, arms[kept].is_plan, gain, low, high, promised, sentence)


def gain_over(new: ArmTimes, old: ArmTimes) -> tuple[float, float, float]:
    """Estimate how many times as long as of the new arm steps of the old take, and an interval.

    The ratio of typical steps, two standard errors to either side: in simulated trials with noise
    of four kinds the ratio in truth lies in it in 90 to 94 of 100.
    """
    gain = log(old.typical_us / new.typical_us)
    reach = _ERRORS * hypot(new.error, old.error)
    return exp(gain), exp(gain - reach), exp(gain + reach)


def _sentence(
    plan: ArmTimes,
    other: ArmTimes,
    gains: tuple[float, float, float],
    promised: float | None,
) -> str:
    gain, low, high = gains
    said = (
        f"{plan.name} takes {plan.typical_us / 1e3:.1f} ms a step, {_within(other.name)} "
        f"{other.typical_us / 1e3:.1f} ms: {_share(gain)} (90 % interval {_share(low)} to "
        f"{_share(high)})"
    )
    said += "" if promised is None else f"; {_share(promised)} was promised"
    who = plan.name if other.is_plan else "The plan"
    if gain > LEAST and low > WORST:
        return f"{who} is kept. {said}."
    if gain > LEAST:
        why = "may take more than a tenth longer, as far as these steps tell"
    else:
        why = "does not beat it" if gain <= 1 else "beats it by no more than half a percent"
    return f"{other.name} goes on: {_within(who)} {why}. {said}."


def _within(name: str) -> str:
    """Write a name inside a sentence."""
    return name.replace("The ", "the ", 1) if name.startswith("The ") else name


def _share(gain: float) -> str:
    """Write a gain as the share of the time that is saved."""
    saved = 1 - 1 / gain
    return f"{abs(saved):.1%} {'less' if saved >= 0 else 'more'}"
