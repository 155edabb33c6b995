"""When something happens: on the host, or on the GPU without waiting for it."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence


class StampClock(Protocol):
    """Stamps are taken in the step, and read after it."""

    def stamp(self) -> Any:
        """Take the time, as cheaply as can be."""

    def read(self, stamps: Sequence[Any]) -> list[float]:
        """Return the times [us] since the first of the stamps."""


class HostClock:
    """The clock of the CPU."""

    stamp = staticmethod(perf_counter_ns)

    @staticmethod
    def read(stamps: Sequence[int]) -> list[float]:
        """Return the times [us] since the first of the stamps."""
        return [(stamp - stamps[0]) / 1e3 for stamp in stamps]


class GpuClock:
    """Events on the stream that is current where they are taken."""

    @staticmethod
    def stamp() -> Any:
        """Put an event on the current stream."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    @staticmethod
    def read(stamps: Sequence[Any]) -> list[float]:
        """Return the times [us] since the first of the stamps, once the GPU is through."""
        torch.cuda.synchronize()
        return [stamps[0].elapsed_time(stamp) * 1e3 for stamp in stamps]


def clock_of(device: torch.device) -> StampClock:
    """Return the clock of what computes on a device."""
    return GpuClock() if device.type == "cuda" else HostClock()
