"""What gains come to: in a sentence, the same on the page, in the command and by HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solver.evidence.doubts import DoubtedGain
from solver.evidence.gain import VERDICTS, WHAT_RUNS, Gain, share_text


@dataclass(frozen=True, slots=True)
class Headline:
    """What plans gain over what you run.

    Attributes
    ----------
    sentence
        What the first gain, and those under the same barrier, come to; and where one of these is
        not worth it, but is under the other barrier, that as well.
    gains
        Over each of what you run, under PyTorch's barrier first; those without it are left out
        where the graph itself has the barrier. Of a program there is one, of no barrier.
    cut
        What ended the search of the plan for the other barrier before its moves were done; null
        where nothing did.
    """

    sentence: str
    gains: tuple[Gain, ...]
    cut: str | None = None


class ComparedPlan(NamedTuple):
    """A plan or a program beside what you run.

    Attributes
    ----------
    headline
        Its gains, of a plan under both barriers.
    off_calibration
        It beside the first of what you run, under each doubt.
    """

    headline: Headline
    off_calibration: tuple[DoubtedGain, ...]


def headline_of(gains: Sequence[Gain], cut: str | None = None) -> Headline:
    """Gather gains, the one first that a headline speaks of."""
    return Headline(gain_sentence(gains), tuple(gains), cut)


#: What each barrier is called behind a verdict, where both are spoken of.
WAITS = {True: "under PyTorch's barrier", False: "without a barrier"}


def gain_sentence(gains: Sequence[Gain]) -> str:
    """Say what the first gain, and those under the same barrier, come to; empty of none.

    Such as ``28.7 % less than DDP: worth it.``, why, and ``0.4 % less than DDP tuned: nothing to
    gain.`` What is worth it under the other barrier alone is said in the same sentence: ``nothing
    to gain under PyTorch's barrier; without a barrier 1.1 % less than DDP tuned: worth it.``
    """
    if not gains:
        return ""
    first = gains[0]
    told = [each for each in gains if each.barrier is first.barrier]
    others = [each for each in gains if each.barrier is not first.barrier]
    by_verdict = {
        each.verdict: [one for one in told if one.verdict == each.verdict] for each in told
    }
    hidden = {verdict: _hidden(some, others) for verdict, some in by_verdict.items()}
    parts = [
        _judged(some, hidden[verdict])
        for verdict, some in by_verdict.items()
        if verdict is not None
    ]
    why = first.why
    if hidden[first.verdict]:  # the reason is not that of what was said last
        where = WAITS[bool(first.barrier)]
        why = f"{where[0].upper()}{where[1:]}: {why}"
    return " ".join([*parts[:1], why, *parts[1:]])


def _hidden(gains: Sequence[Gain], others: Sequence[Gain]) -> list[Gain]:
    """List what is worth it of others, over what gains of one verdict are over and are not."""
    if gains[0].verdict == "worth_it":
        return []
    over = {gain.over for gain in gains}
    return [each for each in others if each.verdict == "worth_it" and each.over in over]


def _judged(gains: Sequence[Gain], hidden: Sequence[Gain]) -> str:
    """Say what gains of one verdict are, that verdict, and what these hide."""
    said = _with_verdict(gains)
    if hidden:
        here, there = (WAITS[bool(some[0].barrier)] for some in (gains, hidden))
        said = f"{said} {here}; {there} {_with_verdict(hidden)}"
    return f"{said[0].upper()}{said[1:]}."


def _with_verdict(gains: Sequence[Gain]) -> str:
    """Say what gains of one verdict are, and that verdict."""
    assert gains[0].verdict is not None, "it was judged"
    return f"{', '.join(map(share_said, gains))}: {VERDICTS[gains[0].verdict]}"


def share_said(gain: Gain) -> str:
    """Say how much less a plan takes than what you run, such as ``5.1 % less than DDP``."""
    share = share_alone(gain)
    return f"{share} {'as' if share == _AS_LONG else 'than'} {named(gain)}"


#: What a plan takes that saves nothing.
_AS_LONG = "as long"


def share_alone(gain: Gain) -> str:
    """Say how much less a plan takes, such as ``5.1 % less``."""
    if gain.gain is None or share_text(gain.gain) == share_text(0.0):
        return _AS_LONG
    return f"{share_text(gain.gain)} {'less' if gain.gain > 0 else 'more'}"


def named(gain: Gain) -> str:
    """Name what a gain is over, with the cap of its buckets where that is tuned."""
    name = WHAT_RUNS[gain.over]
    return name if gain.bucket_cap_mb is None else f"{name} (bucket_cap_mb {gain.bucket_cap_mb:g})"
