"""The headline of a plan for a reader."""

from collections.abc import Iterator

from app.cli.rendering.page import Line
from app.cli.rendering.tables import table
from solver.planning.headline import Gain, Headline

_TODAY = {"ddp": "PyTorch DDP", "wfbp": "as it is, FIFO"}


def headline(found: Headline | None) -> Iterator[Line]:
    """Set what runs today beside the plans, the one that PyTorch can run first."""
    if found is None:
        return
    yield "Gain over today"
    rows = [
        [
            "under PyTorch's barrier" if gain.barrier else "each parameter on its own",
            f"{gain.today_us / 1e3:.3f} ms",
            f"{gain.plan_us / 1e3:.3f} ms",
            _verdict(gain),
            gain.runtime,
        ]
        for gain in found.gains
    ]
    heads = ["", _TODAY[found.policy], "plan", "gain", "needs"]
    yield table(heads, rows, widths=(25, 11, 11, 6), has_remarks=True)
    if all(gain.keep for gain in found.gains):
        yield "Nothing to gain: keep what you have."


def _verdict(gain: Gain) -> str:
    return "keep" if gain.keep or gain.gain is None else f"{gain.gain:.3f}x"
