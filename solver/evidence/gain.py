"""A gain with its interval and its verdict: the one place that says what is worth it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from solver.evidence.doubts import DoubtedGain, saved

Verdict = Literal["worth_it", "too_close", "nothing", "unreachable"]

#: What a plan is compared with, by :mod:`solver.evidence.what_you_run`.
Over = Literal["recorded", "ddp", "ddp_tuned", "fsdp2", "fifo", "inductor", "xla_lhs"]

#: What each is called in sentences.
WHAT_RUNS: dict[Over, str] = {
    "recorded": "what was recorded",
    "ddp": "DDP",
    "ddp_tuned": "DDP tuned",
    "fsdp2": "FSDP2",
    "fifo": "FIFO",
    "inductor": "inductor",
    "xla_lhs": "XLA's scheduler",
}

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

#: Where what was measured is further off than this share of a step, it may hide a gain.
HIDDEN = 0.03


@dataclass(frozen=True, slots=True)
class Gain:
    """What a plan saves over something that is run today, both under the same rules.

    Attributes
    ----------
    over
        What it is compared with: a key of :data:`WHAT_RUNS`.
    today_us, plan_us
        Both simulated [us]; where FSDP2 runs the plan, ``plan_us`` is the form that its export
        writes.
    lower_bound_us
        Nothing is faster under these rules, proven [us].
    gain
        1 - ``plan_us`` / ``today_us``; None where today takes no time.
    gain_low, gain_high
        The least and the most of it over the costs as stated and as they may be off.
    verdict
        ``worth_it``: a gain in all of these, and above ``trust_below`` in all of these;
        ``nothing``: less than :data:`LEAST_GAIN`, and no schedule saves more than :data:`NOTHING`,
        proven, where ``trust_below`` hides no more than :data:`HIDDEN`;
        ``unreachable``: what you run cannot execute it; else ``too_close``, as of any gain on a
        recording that is ``unsound``. None where there is no gain to judge.
    why
        The verdict's reason, a sentence.
    barrier
        The next forward pass waits for all collectives, as in PyTorch; None where it is neither.
    runtime
        What the plan needs to be run; None where nothing runs it, or that is not known.
    bucket_cap_mb
        Of DDP at its best cap [MiB]; None of all else, and where its defaults are best.
    today_peak_bytes, plan_peak_bytes
        The most memory of both; None where memory is not known.
    """

    over: Over
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
    bucket_cap_mb: float | None = None
    today_peak_bytes: int | None = None
    plan_peak_bytes: int | None = None


def gain_over(
    over: Over,
    today_us: float,
    plan_us: float,
    lower_bound_us: float,
    doubted: Sequence[DoubtedGain] = (),
    *,
    trust_below: float | None = None,
    headroom_high: float | None = None,
    unreachable: str | None = None,
    unsound: Sequence[str] = (),
    barrier: bool | None = None,
    runtime: str | None = None,
    bucket_cap_mb: float | None = None,
    peak_bytes: tuple[int | None, int | None] = (None, None),
) -> Gain:
    """Judge what a plan saves.

    The doubts move what you run and the plan alike; an error of the fit does not, as both send
    other sizes. So a gain must exceed ``trust_below`` with every doubt, and where measurements are
    far off nothing is proven by a bound either. Held against 500 steps of hidden costs
    (``tests/solver/test_verdicts.py``).

    Parameters
    ----------
    over, today_us, plan_us, lower_bound_us, barrier, runtime, bucket_cap_mb
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
    unsound
        What is wrong with the recording, a sentence each; then no gain is claimed.
    peak_bytes
        The most memory of what you run and of the plan.
    """
    gain = saved(today_us, plan_us)
    low = high = gain
    verdict: Verdict | None = None
    why = "Nothing takes time."
    if gain is not None:
        every = [gain, *(each.gain for each in doubted if each.gain is not None)]
        low, high = min(every), max(every)
        verdict, why = _judged(gain, low, trust_below, headroom_high, unreachable)
        if unsound:
            verdict, why = "too_close", f"No gain is claimed: {unsound[0]}"
    return Gain(
        over,
        today_us,
        plan_us,
        lower_bound_us,
        gain,
        low,
        high,
        verdict,
        why,
        barrier,
        runtime,
        bucket_cap_mb,
        *peak_bytes,
    )


def _judged(
    gain: float,
    low: float,
    trust_below: float | None,
    headroom_high: float | None,
    unreachable: str | None,
) -> tuple[Verdict, str]:
    if gain < LEAST_GAIN:
        return _too_little(trust_below, headroom_high)
    if low <= 0:
        loss = "save nothing" if _is_nought(low) else f"be a loss of {share_text(low)}"
        return "too_close", f"Were the costs off, it might {loss}."
    if trust_below is not None and low <= trust_below:
        where = "" if gain <= trust_below else f", and it might be {share_text(low)}"
        return "too_close", f"Measurements carry no gain{trusted(trust_below)}{where}."
    if unreachable is not None:
        return "unreachable", unreachable
    return "worth_it", f"It saves at least {share_text(low)} where the costs are off as well."


def _too_little(trust_below: float | None, headroom_high: float | None) -> tuple[Verdict, str]:
    if headroom_high is None or headroom_high > NOTHING:
        least = share_text(LEAST_GAIN)
        return "too_close", f"The plan saves less than {least}; another might save more."
    if trust_below is not None and trust_below > HIDDEN:
        return "too_close", f"Measurements carry no gain{trusted(trust_below)}."
    if _is_nought(headroom_high):
        return "nothing", "No schedule is faster, proven."
    return "nothing", f"No schedule saves more than {share_text(headroom_high)}, proven."


def _is_nought(share: float) -> bool:
    return share_text(share) == share_text(0.0)


def trusted(trust_below: float) -> str:
    """Say, after "no gain", below which nothing follows: no plan saves a whole step or more."""
    if trust_below < 1:
        return f" below {share_text(trust_below)}"
    apart = share_text(trust_below)
    return f": measured and simulated times are {apart} apart, more than any plan can save"


def share_text(share: float) -> str:
    """Write a share as text, such as ``5.1 %``."""
    return f"{100 * abs(share):.1f} %"
