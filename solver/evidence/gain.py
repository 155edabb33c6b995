"""A gain with its interval and its verdict: the one place that says what is worth it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from solver.evidence.doubts import DoubtedGain, saved

Verdict = Literal["worth_it", "too_close", "nothing", "unreachable"]

#: What each verdict is called in sentences.
VERDICTS: dict[Verdict, str] = {
    "worth_it": "worth it",
    "too_close": "too close to say",
    "nothing": "nothing to gain",
    "unreachable": "not reachable with what you run",
}

#: A gain below this share is not worth the change of a training job.
LEAST_GAIN = 0.01

#: Where no schedule saves more than this share, there is nothing to gain.
NOTHING = 0.02


@dataclass(frozen=True, slots=True)
class Gain:
    """What a plan saves over something that is run today, both under the same rules.

    Attributes
    ----------
    over
        What it is compared with, such as ``ddp`` or ``ddp at its best cap``.
    today_us, plan_us
        Both simulated [us].
    lower_bound_us
        Nothing is faster under these rules, proven [us].
    gain
        1 - ``plan_us`` / ``today_us``; None where today takes no time.
    gain_low, gain_high
        The least and the most of it over the costs as stated and as they may be off.
    verdict
        ``worth_it``: a gain in all of these, and above ``trust_below``; ``nothing``: no schedule
        saves more than :data:`NOTHING`, proven; ``unreachable``: what you run cannot execute it;
        else ``too_close``. None where there is no gain to judge.
    why
        The verdict's reason, a sentence.
    barrier
        The next forward pass waits for all collectives, as in PyTorch; None where it is neither.
    runtime
        What the plan needs to be run; None where that is not known.
    """

    over: str
    today_us: float
    plan_us: float
    lower_bound_us: float
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    verdict: Verdict | None
    why: str
    barrier: bool | None = None
    runtime: str | None = None


def gain_over(
    over: str,
    today_us: float,
    plan_us: float,
    lower_bound_us: float,
    doubted: Sequence[DoubtedGain] = (),
    *,
    trust_below: float | None = None,
    headroom_high: float | None = None,
    unreachable: str | None = None,
    barrier: bool | None = None,
    runtime: str | None = None,
) -> Gain:
    """Judge what a plan saves.

    Parameters
    ----------
    over, today_us, plan_us, lower_bound_us, barrier, runtime
        As in a :class:`Gain`.
    doubted
        The same where the costs are off.
    trust_below
        The gain below which nothing follows from what was measured; None where nothing was.
    headroom_high
        The most that any schedule saves, over the stated costs and the doubted ones; None where
        only the bound at the stated costs is known, which then proves nothing alone.
    unreachable
        Why what you run cannot execute the plan; None where it can.
    """
    gain = saved(today_us, plan_us)
    if gain is None:
        why = "Nothing takes time."
        return Gain(
            over, today_us, plan_us, lower_bound_us, None, None, None, None, why, barrier, runtime
        )
    every = [gain, *(each.gain for each in doubted if each.gain is not None)]
    low, high = min(every), max(every)
    verdict, why = _judged(gain, low, trust_below, headroom_high, unreachable)
    return Gain(
        over, today_us, plan_us, lower_bound_us, gain, low, high, verdict, why, barrier, runtime
    )


def _judged(
    gain: float,
    low: float,
    trust_below: float | None,
    headroom_high: float | None,
    unreachable: str | None,
) -> tuple[Verdict, str]:
    if headroom_high is not None and headroom_high <= NOTHING:
        return "nothing", f"No schedule saves more than {headroom_high:.1%}, proven."
    if gain < LEAST_GAIN:
        return "too_close", f"The plan saves less than {LEAST_GAIN:.0%}; another might save more."
    if trust_below is not None and gain <= trust_below:
        return "too_close", f"Measurements carry no gain below {trust_below:.1%}."
    if low <= 0:
        return "too_close", f"Were the costs off, it might be a loss of {-low:.1%}."
    if unreachable is not None:
        return "unreachable", unreachable
    return "worth_it", f"It saves at least {low:.1%} where the costs are off as well."
