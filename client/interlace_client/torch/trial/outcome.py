"""What the measured steps of a trial decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import exp, log
from statistics import median
from typing import Any

#: A plan stays where all of its interval is above this gain.
_LEAST = 1.01

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
        Whether that is the plan.
    gain, gain_low, gain_high
        Time of the best of DistributedDataParallel over time of the best of the plan: the
        Hodges-Lehmann estimate of paired steps, and its interval.
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


def decide(arms: Sequence[ArmTimes], promised: float | None = None) -> TrialOutcome:
    """Decide by measured steps alone.

    The best arm of the plan stays if its paired interval of at least 90 % beats the best of
    DistributedDataParallel by 1 %; else that goes on. The best of a kind has the least median, and
    of equals comes first. The interval does not count that the same steps chose the two.

    Parameters
    ----------
    arms
        At least one of the plan and one of DistributedDataParallel, with as many steps each.
    promised
        The gain that was planned.
    """
    places = range(len(arms))
    order = sorted(places, key=lambda k: (arms[k].median_us, k))
    best = next(k for k in order if arms[k].is_plan)
    other = next(k for k in order if not arms[k].is_plan)
    ratios = [x / y for x, y in zip(arms[other].steps_us, arms[best].steps_us)]
    gain, low, high = gain_interval(ratios)
    is_planned = low > _LEAST
    kept = best if is_planned else other
    sentence = _sentence(arms[best], arms[other], (gain, low, high), promised)
    return TrialOutcome(tuple(arms), kept, is_planned, gain, low, high, promised, sentence)


def gain_interval(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Estimate a ratio from paired ones, with an interval that holds it in at least 90 %.

    The Hodges-Lehmann estimate: the median of the geometric means of all pairs of ratios, each
    with itself, too. The interval inverts Wilcoxon's signed-rank test, exactly; it supposes that
    logarithms of the ratios lie evenly about that of the true one, and nothing of how far.

    Parameters
    ----------
    ratios
        Five or more, above 0.

    References
    ----------
    M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric statistical methods, 3rd edition, 3.2, 3.3.
    """
    logs = [log(ratio) for ratio in ratios]
    means = sorted((x + y) / 2 for x, y in combinations_with_replacement(logs, 2))
    out = _left_out(len(logs))
    return exp(median(means)), exp(means[out]), exp(means[-1 - out])


def _left_out(count: int) -> int:
    """Return how many means are left out at each end: as many as the share at an end allows."""
    ways = [1]  # by the sum of the ranks that have a sign
    for rank in range(1, count + 1):
        ways = [
            (ways[k] if k < len(ways) else 0) + (ways[k - rank] if k >= rank else 0)
            for k in range(len(ways) + rank)
        ]
    out, below = 0, ways[0]
    while (below + ways[out + 1]) <= _TAIL * 2**count:
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
        f"{plan.name} takes {plan.median_us / 1e3:.1f} ms a step, {other.name} "
        f"{other.median_us / 1e3:.1f} ms: {_share(gain)} (90 % interval {_share(low)} to "
        f"{_share(high)})"
    )
    said += "" if promised is None else f"; {_share(promised)} was promised"
    if low > _LEAST:
        return f"The plan is kept. {said}."
    why = "does not beat" if low <= 1 else "beats by less than 1 %, at the low end,"
    return f"{other.name} goes on: the plan {why} it. {said}."


def _share(gain: float) -> str:
    """Write a gain as the share of the time that is saved."""
    saved = 1 - 1 / gain
    return f"{abs(saved):.1%} {'less' if saved >= 0 else 'more'}"
