"""What the measured steps of a trial decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from math import exp, log
from statistics import median
from typing import Any

#: A plan stays where all of its interval is above this gain.
LEAST = 1.01

#: The interval leaves out so much at each end.
_TAIL = 0.05


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
        of the best other plan: the Hodges-Lehmann estimate of paired steps, and its interval.
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

    Each is the best of its kind: that with the least median, and of equals the first.

    Parameters
    ----------
    arms
        At least one of each kind.
    rival
        The place of the one that goes on; None is the best that is no plan.
    """
    order = sorted(range(len(arms)), key=lambda k: (arms[k].median_us, k))
    if rival is None:
        rival = next(k for k in order if not arms[k].is_plan)
    return next(k for k in order if arms[k].is_plan and k != rival), rival


def decide(
    arms: Sequence[ArmTimes],
    pair: tuple[int, int],
    promised: float | None = None,
    tail: float = _TAIL,
) -> TrialOutcome:
    """Decide by measured steps alone.

    A plan stays if its paired interval beats what goes on otherwise by 1 %; else that goes on. The
    interval does not count that the same steps may have chosen the two.

    Parameters
    ----------
    arms
        All.
    pair
        Places of the arm that is to win, and of the other, which have as many steps.
    promised
        The gain that was planned.
    tail
        The share that the interval leaves out at each end, at the most.
    """
    new, old = (arms[k] for k in pair)
    ratios = [x / y for x, y in zip(old.steps_us, new.steps_us)]
    gain, low, high = gain_interval(ratios, tail)
    kept = pair[0] if low > LEAST else pair[1]
    sentence = _sentence(new, old, (gain, low, high), promised)
    return TrialOutcome(tuple(arms), kept, arms[kept].is_plan, gain, low, high, promised, sentence)


def gain_interval(ratios: Sequence[float], tail: float = _TAIL) -> tuple[float, float, float]:
    """Estimate a ratio from paired ones, with an interval that holds it in at least 90 %.

    The Hodges-Lehmann estimate: the median of the geometric means of all pairs of ratios, each
    with itself, too. The interval inverts Wilcoxon's signed-rank test, exactly; it supposes that
    logarithms of the ratios lie evenly about that of the true one, and nothing of how far.

    Parameters
    ----------
    ratios
        Five or more, above 0; six for a tail of 2 %.
    tail
        The share of cases in which the ratio lies beyond an end, at the most.

    References
    ----------
    M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric statistical methods, 3rd edition, 3.2, 3.3.
    """
    logs = [log(ratio) for ratio in ratios]
    means = sorted((x + y) / 2 for x, y in combinations_with_replacement(logs, 2))
    out = _left_out(len(logs), tail)
    return exp(median(means)), exp(means[out]), exp(means[-1 - out])


@cache
def _left_out(count: int, tail: float) -> int:
    """Return how many means are left out at each end: as many as the share at an end allows."""
    ways = [1]  # by the sum of the ranks that have a sign
    for rank in range(1, count + 1):
        ways = [
            (ways[k] if k < len(ways) else 0) + (ways[k - rank] if k >= rank else 0)
            for k in range(len(ways) + rank)
        ]
    out, below = 0, ways[0]
    while (below + ways[out + 1]) <= tail * 2**count:
        out += 1
        below += ways[out]
    return out


def _sentence(
    plan: ArmTimes,
    other: ArmTimes,
    gains: tuple[float, float, float],
    promised: float | None,
) -> str:
    gain, low, high = gains
    said = (
        f"{plan.name} takes {plan.median_us / 1e3:.1f} ms a step, {_within(other.name)} "
        f"{other.median_us / 1e3:.1f} ms: {_share(gain)} (90 % interval {_share(low)} to "
        f"{_share(high)})"
    )
    said += "" if promised is None else f"; {_share(promised)} was promised"
    who = plan.name if other.is_plan else "The plan"
    if low > LEAST:
        return f"{who} is kept. {said}."
    why = "does not beat" if low <= 1 else "beats by less than 1 %, at the low end,"
    return f"{other.name} goes on: {_within(who)} {why} it. {said}."


def _within(name: str) -> str:
    """Write a name inside a sentence."""
    return name.replace("The ", "the ", 1) if name.startswith("The ") else name


def _share(gain: float) -> str:
    """Write a gain as the share of the time that is saved."""
    saved = 1 - 1 / gain
    return f"{abs(saved):.1%} {'less' if saved >= 0 else 'more'}"
