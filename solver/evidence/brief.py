"""What a reader wants first: the verdict with its figures, what limits them, what to do next.

One place for the command, the service, its page and Python, so that all of them begin alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from solver.evidence.gain import VERDICTS, Gain, Verdict, share_text
from solver.evidence.headline import WAITS, Headline, named, share_alone, share_said
from solver.wording import ms

#: What limits an iteration, by the word of an explanation.
Limit = Literal["compute", "bandwidth", "startup", "tensor", "op", "policy"]

#: The same as a subject.
LIMITS: dict[Limit, str] = {
    "compute": "Compute limits",
    "bandwidth": "Bandwidth limits",
    "startup": "Start-ups limit",
    "tensor": "One tensor limits",
    "op": "One op limits",
    "policy": "The order of launches limits",
}

#: What a change of the iteration is called, by the name of its sensitivity; what removes a thing
#: altogether is no advice.
CHANGES = {
    "bandwidth_double": "twice the bandwidth",
    "startup_half": "half the start-up",
    "compute_half": "compute twice as fast",
}

#: Below this share of an iteration a change is not worth a sentence.
_HELPS = 0.01

#: Smaller shares are said to be under 0.1 %.
_SAID = 0.001


class Moved(Protocol):
    """An iteration with one thing cheaper."""

    @property
    def name(self) -> str:
        """What was changed."""

    @property
    def gain_us(self) -> float:
        """How much less it takes [us]."""


@dataclass(frozen=True, slots=True)
class Brief:
    """An answer in three sentences and three figures.

    Attributes
    ----------
    verdict
        That of the gain which is spoken of; null where there is none to judge.
    over
        What you run, in words; null where nothing is compared.
    today_us, plan_us, lower_bound_us
        What you run takes, the plan, and what nothing is faster than [us]; the first null where
        nothing is compared, the last where nothing is proven.
    gain, gain_low, gain_high
        The share that the plan saves, and between what it lies where the costs are off.
    barrier
        Whether that is under PyTorch's barrier; null where it is neither.
    sentence
        Verdict and figures.
    limit
        What limits the iteration; empty where that is not known.
    next
        What to do.
    tuned
        What it comes to beside DDP at its best cap, under the same barrier; empty where that is
        what is spoken of, or nothing is DDP.
    """

    verdict: Verdict | None
    over: str | None
    today_us: float | None
    plan_us: float
    lower_bound_us: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    barrier: bool | None
    sentence: str
    limit: str
    next: str
    tuned: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that is said."""
        return tuple(filter(None, (self.sentence, self.tuned, self.limit, self.next)))


def brief_of(
    found: Headline,
    limited_by: Limit | None,
    exposed_us: float,
    iteration_time_us: float,
    moved: Sequence[Moved] = (),
    *,
    barrier: bool | None = None,
) -> Brief | None:
    """Say first what a plan is worth; None where it is compared with nothing.

    Spoken of is the first gain that is worth it, under the plan's barrier if one is, else the
    first of all, again under the plan's barrier if there is one.

    Parameters
    ----------
    found
        What plans gain over what you run.
    limited_by
        What limits the plan; None where nobody knows.
    exposed_us, iteration_time_us
        Of the plan [us].
    moved
        The plan with one thing cheaper at a time.
    barrier
        Of the plan; where the gain is under the other one, that is said. None of a program.
    """
    if not found.gains:
        return None
    gains = sorted(found.gains, key=lambda gain: _is_other(gain, barrier=barrier))
    gain = next((each for each in gains if each.verdict == "worth_it"), gains[0])
    tuned = _tuned(gain, found.gains)
    return Brief(
        gain.verdict,
        named(gain),
        gain.today_us,
        gain.plan_us,
        gain.lower_bound_us,
        gain.gain,
        gain.gain_low,
        gain.gain_high,
        gain.barrier,
        _sentence(gain),
        _of_plan(gain, limit_said(limited_by, exposed_us, iteration_time_us), barrier=barrier),
        _next(gain, tuned, helps_most(moved, iteration_time_us), barrier=barrier),
        _tuned_said(tuned),
    )


def _is_other(gain: Gain, *, barrier: bool | None) -> bool:
    return None not in {gain.barrier, barrier} and gain.barrier is not barrier


def _of_plan(gain: Gain, limit: str, *, barrier: bool | None) -> str:
    """Say of which plan a limit is, where the gain is another's."""
    if not limit or not _is_other(gain, barrier=barrier):
        return limit
    where = WAITS[bool(barrier)]
    return f"{where[0].upper()}{where[1:]}: {limit[0].lower()}{limit[1:]}"


def limit_said(limited_by: Limit | None, exposed_us: float, iteration_time_us: float) -> str:
    """Say what limits an iteration, and how much of it communication adds; empty if not known."""
    if limited_by is None or not iteration_time_us:
        return ""
    share = exposed_us / iteration_time_us
    said = share_text(share) if share >= _SAID else "under 0.1 %"
    added = f"{_ms(exposed_us)} of its {_ms(iteration_time_us)} ({said})"
    return f"{LIMITS[limited_by]} it: communication adds {added if exposed_us > 0 else 'nothing'}."


def helps_most(moved: Sequence[Moved], iteration_time_us: float) -> str:
    """Name the change of :data:`CHANGES` that saves most; empty where none saves 1 %."""
    known = [each for each in moved if each.name in CHANGES]
    best = max(known, key=lambda each: each.gain_us, default=None)
    if best is None or best.gain_us <= _HELPS * iteration_time_us:
        return ""
    share = 100 * best.gain_us / iteration_time_us
    return f"{CHANGES[best.name]} would save {share:.1f} %"


def _sentence(gain: Gain) -> str:
    verdict = "Nothing takes time" if gain.verdict is None else VERDICTS[gain.verdict]
    where = "" if gain.barrier is None else f" {WAITS[gain.barrier]}"
    return (
        f"{verdict[0].upper()}{verdict[1:]}: what you run, {named(gain)}, takes "
        f"{_ms(gain.today_us)}, planned {_ms(gain.plan_us)}{where}: "
        f"{share_said(gain)}{_between(gain)}. Nothing is faster than {_ms(gain.lower_bound_us)}."
    )


def _tuned(gain: Gain, gains: Sequence[Gain]) -> Gain | None:
    """Return what the plan gains over DDP at its best cap, where DDP as it is is spoken of."""
    if gain.over != "ddp":
        return None
    its = (each for each in gains if each.over == "ddp_tuned" and each.barrier is gain.barrier)
    return next((each for each in its if each.verdict is not None), None)


def _tuned_said(best: Gain | None) -> str:
    if best is None or best.verdict is None:
        return ""
    if best.bucket_cap_mb is None:
        return "No other cap of its buckets is better for DDP."
    return (
        f"At its best cap (bucket_cap_mb {best.bucket_cap_mb:g}) DDP takes {_ms(best.today_us)}, "
        f"planned {_ms(best.plan_us)}: {share_alone(best)}{_between(best)}: "
        f"{VERDICTS[best.verdict]}."
    )


def _between(gain: Gain) -> str:
    """Say between what a gain lies; empty where that is not known."""
    if gain.gain_low is None or gain.gain_high is None:
        return ""
    return f" ({_tenths(gain.gain_low)} to {_tenths(gain.gain_high)} % if costs are off)"


def _next(gain: Gain, tuned: Gain | None, helps: str, *, barrier: bool | None) -> str:
    """Say what to do, by the verdict; a cap of DDP's buckets where that is worth as much."""
    if gain.verdict == "worth_it":
        if tuned and tuned.verdict and tuned.verdict != "worth_it" and tuned.bucket_cap_mb:
            beside = VERDICTS[tuned.verdict]
            return (
                f"Next: set DDP's bucket_cap_mb to {tuned.bucket_cap_mb:g} (beside it: {beside})."
            )
        what = f"plan it {WAITS[bool(gain.barrier)]} and run that"
        by = gain.runtime or "whatever carries launches in its order"
        return f"Next: {what if _is_other(gain, barrier=barrier) else 'run the plan'} ({by})."
    if gain.verdict == "too_close":
        if gain.over in {"ddp", "ddp_tuned"}:
            return (
                "Next: try it in the run's own steps (interlace_client.torch.Trial), or measure "
                "the network (interlace calibrate) before you change anything."
            )
        return "Next: measure the network (interlace calibrate) before you change anything."
    if gain.verdict == "unreachable":
        return f"Next: stay with what you run. {gain.why}"
    also = f"; {helps}" if helps else ""
    return f"Next: stay with what you run{also}."


def _ms(us: float) -> str:
    return f"{us / 1e3:,.1f} ms" if us >= 1e5 else ms(us)  # noqa: PLR2004


def _tenths(share: float) -> str:
    """Write a share in percent, without a sign of nought."""
    return f"{round(100 * share, 1) + 0.0:.1f}"
