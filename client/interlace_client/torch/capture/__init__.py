"""A training step, recorded: what the graph of a plan is made of.

========================  =============================================================
:class:`Capture`          records steps of a loop that stays as it is
:func:`capture`           calls a function that trains one step, and records that
:class:`Recording`        what comes out: a graph, who uses which parameter first, notes
:func:`measure_overlap`   how much compute and launches slow each other in the same steps
:func:`measure_slowdown`  the same of compute alone
========================  =============================================================
"""

from interlace_client.torch.capture.errors import RanksDiffer, Unrecorded
from interlace_client.torch.capture.recorder import Capture, capture
from interlace_client.torch.capture.recording import Recording, Tensor
from interlace_client.torch.capture.slowdown import measure_overlap, measure_slowdown

__all__ = [
    "Capture",
    "RanksDiffer",
    "Recording",
    "Tensor",
    "Unrecorded",
    "capture",
    "measure_overlap",
    "measure_slowdown",
]
