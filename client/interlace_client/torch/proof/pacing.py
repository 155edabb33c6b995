"""Launches of a known time, without a network: each holds its channel for what a table says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable

import torch

if TYPE_CHECKING:
    from interlace_client.torch.transport import Work

#: How long the spinning kernel is timed [cycles], and how often.
_CYCLES, _TIMES = 20_000_000, 5


class PacedChannel:
    """A transport of one rank that runs one launch at a time, each for its time.

    On a GPU a kernel spins on a stream of its own after what the current stream has been given: one
    block on one multiprocessor, so compute goes on beside it. On a CPU a launch has an end by the
    clock, and who waits sleeps until then: no core is taken.

    Parameters
    ----------
    device
        Where the tensors lie.
    cost
        What a launch of so many bytes takes [us]; may be set anew between steps.
    """

    def __init__(self, device: torch.device, cost: Callable[[int], float]) -> None:
        self.cost = cost
        self._free = 0.0
        self._stream: Any = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._rate = _cycles_per_us(self._stream) if self._stream else 0.0

    def start(self, tensor: torch.Tensor) -> Work:
        """Begin a launch as soon as the one before it has ended."""
        took_us = self.cost(tensor.numel() * tensor.element_size())
        if self._stream is None:
            self._free = max(self._free, time.perf_counter()) + took_us / 1e6
            return ClockLaunch(self._free)
        self._stream.wait_stream(torch.cuda.current_stream(tensor.device))
        with torch.cuda.stream(self._stream):
            if took_us > 0:
                torch.cuda._sleep(int(took_us * self._rate))
            return DeviceLaunch(self._stream.record_event())

    def broadcast(self, tensor: torch.Tensor) -> Work:
        """Begin nothing: there is one rank."""
        return ClockLaunch(0.0)


class ClockLaunch:
    """A launch that ends by the clock of the host."""

    def __init__(self, end: float) -> None:
        self._end = end

    def wait(self) -> None:
        """Sleep until it has ended."""
        left = self._end - time.perf_counter()
        if left > 0:
            time.sleep(left)

    def is_completed(self) -> bool:
        """Tell whether it has ended."""
        return time.perf_counter() >= self._end


class DeviceLaunch:
    """A launch that ends with an event."""

    def __init__(self, event: Any) -> None:
        self._event = event

    def wait(self) -> None:
        """Have the current stream wait for its end."""
        torch.cuda.current_stream().wait_event(self._event)

    def is_completed(self) -> bool:
        """Tell whether it has ended."""
        return bool(self._event.query())


def _cycles_per_us(stream: Any) -> float:
    """Measure how many cycles the spinning kernel makes in a microsecond."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    rates = []
    with torch.cuda.stream(stream):
        for _ in range(_TIMES):
            begin.record()
            torch.cuda._sleep(_CYCLES)
            end.record()
            end.synchronize()
            rates.append(_CYCLES / (begin.elapsed_time(end) * 1e3))
    return max(rates)
