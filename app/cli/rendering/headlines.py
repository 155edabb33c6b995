"""The headline of a plan for a reader."""

from collections.abc import Iterator

from app.cli.rendering.figures import percent
from app.cli.rendering.page import Line
from app.cli.rendering.tables import table
from solver.evidence.gain import VERDICTS, Gain
from solver.evidence.headline import Headline, named
from solver.wording import ms

_WHERE = {True: ", barrier", False: "", None: ""}


def headline(found: Headline | None) -> Iterator[Line]:
    """Set what you run beside the plans, the one that PyTorch can run first."""
    if found is None:
        return
    yield f"Gain over what you run: {found.sentence}"
    rows = [
        [
            f"{named(gain)}{_WHERE[gain.barrier]}",
            ms(gain.today_us),
            ms(gain.plan_us),
            _saved(gain),
            _judged(gain),
        ]
        for gain in found.gains
    ]
    heads = ["over", "takes", "plan", "saves", "verdict; what it needs"]
    yield table(heads, rows, has_remarks=True)


def _saved(gain: Gain) -> str:
    """Write the share that is saved, and between what it lies where the costs are off."""
    if gain.gain is None or gain.gain_low is None or gain.gain_high is None:
        return "-"
    return f"{percent(gain.gain)} ({_tenths(gain.gain_low)} to {_tenths(gain.gain_high)})"


def _tenths(share: float) -> str:
    """Write a share in percent, without a sign of nought."""
    return f"{round(100 * share, 1) + 0.0:.1f}"


def _judged(gain: Gain) -> str:
    if gain.verdict is None:
        return "-"
    needs = f"; {gain.runtime}" if gain.verdict == "worth_it" and gain.runtime else ""
    return f"{VERDICTS[gain.verdict]}{needs}"
