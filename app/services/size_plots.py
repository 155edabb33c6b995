"""The distribution of tensor sizes as a plot: PACE's Fig. 4 for any graph."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.services.drawing import COLOURS, drawn, frame
from solver.explanation.tensor_sizes import TensorSizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sizes with a number on the axis [bytes].
_TICKS = tuple(float(10**k) for k in range(13))


def size_plot(title: str, found: Sequence[TensorSizes]) -> bytes:
    """Draw the share of tensors, and of bytes, up to each size, as SVG.

    Raises
    ------
    NotInstalled
        Without matplotlib.
    """

    def fill(axes: "Axes") -> None:
        axes.set_xscale("log")
        for i, each in enumerate(found):
            colour = COLOURS[i % len(COLOURS)]
            label = f"{each.kind} on {each.channel}"
            xs = [float(share.size) for share in each.shares]
            tensors = [share.tensors / each.tensors for share in each.shares]
            sent = [share.bytes / each.bytes for share in each.shares]
            axes.step(xs, tensors, where="post", color=colour, label=f"{label}: tensors")
            axes.step(xs, sent, where="post", color=colour, linestyle="--", label=f"{label}: bytes")
        axes.set_ylim(0, 1.02)
        sizes = [share.size for each in found for share in each.shares]
        ticks = [tick for tick in _TICKS if min(sizes) / 10 <= tick <= max(sizes) * 10]
        frame(axes, title, "tensor size [bytes]", "share that is no larger", ticks)

    return drawn(fill)
