"""What is wrong with the slowdowns that ops state, by channel."""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import MAX_COMPUTE_SLOWDOWN


class Stating(Protocol):
    """What has a name, and may state how much each channel slows it down."""

    @property
    def id(self) -> str:
        """Name."""

    @property
    def slowdown(self) -> tuple[tuple[str, float], ...] | None:
        """Channels and factors; None where nothing is stated."""


def slowdown_faults(ops: Sequence[Stating], channels: Collection[str]) -> Iterator[Fault]:
    """List the slowdowns out of range, and those by channels that carry nothing.

    Parameters
    ----------
    ops
        The ops; those that state nothing have no fault.
    channels
        The channels that carry collectives of the graph.
    """
    known = ", ".join(map(repr, channels))
    for i, op in enumerate(ops):
        for channel, factor in op.slowdown or ():
            place = f"/ops/{i}/slowdown/{channel.replace('~', '~0').replace('/', '~1')}"
            if not (math.isfinite(factor) and 1 <= factor <= MAX_COMPUTE_SLOWDOWN):
                detail = (
                    f"Op {op.id!r}: slowdown by {channel!r} must be 1 to "
                    f"{MAX_COMPUTE_SLOWDOWN:g}, got {factor!r}."
                )
                yield Fault(place, FaultCode.OUT_OF_RANGE, detail)
            if channel not in channels:
                detail = (
                    f"Op {op.id!r}: slowdown by {channel!r}, which carries no collective of the "
                    f"graph; its channels are {known}."
                )
                yield Fault(place, FaultCode.UNKNOWN_CHANNEL, detail)
