"""Streams of a GPU: whatever is put on one waits for what it needs of the others.

Autograd runs the backward pass of an op on the stream of its forward pass, so gradients of one
bucket may come on several streams, be packed on another, and be launched on a third. On a CPU
nothing of this exists, and there is no :class:`BucketStreams`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from interlace_client.torch.transport import Work

#: What is said of a step inside a CUDA graph.
CAPTURED = (
    "PlannedDDP cannot be captured in a CUDA graph: each step decides in Python what it launches "
    "and updates. Make graphs of parts of the model before it is wrapped "
    "(torch.cuda.make_graphed_callables), or capture the step with DistributedDataParallel."
)


class BucketStreams:
    """Keeps the order of what happens to buckets, over the streams of a device.

    Where all is on one stream, as in most models, each call compares it and does nothing.

    Parameters
    ----------
    count
        How many buckets there are.
    current
        Returns the current stream.
    device
        Of the streams.

    Attributes
    ----------
    known
        Streams on which gradients came, buckets were packed, or updates made. A stream that uses
        parameters in a forward pass is among them after the backward pass of that.
    """

    def __init__(self, count: int, current: Callable[[], Any], device: Any = None) -> None:
        self.known: list[Any] = []
        self._device = device
        self._current = current
        self._came: list[list[Any]] = [[] for _ in range(count)]
        self._packed: list[tuple[Any, Any] | None] = [None] * count

    def take(self, bucket: int) -> None:
        """Hear that a gradient of a bucket has been put on the current stream."""
        stream = self._know(self._current())
        if stream not in self._came[bucket]:
            self._came[bucket].append(stream)

    def before_packing(self, bucket: int, gradients: Iterable[torch.Tensor | None]) -> None:
        """Have the current stream wait for the gradients that came on others.

        Their memory is kept for as long as it reads them.
        """
        stream, came = self._current(), self._came[bucket]
        if stream not in self.known:  # it has waited for nothing yet, as for updates
            came = self.known
        others = [each for each in came if each != stream]
        for each in others:
            stream.wait_stream(each)
        if others:
            for gradient in gradients:
                if gradient is not None and gradient.device == self._device:
                    gradient.record_stream(stream)
        self._know(stream)
        self._came[bucket] = []

    def after_packing(self, bucket: int) -> None:
        """Remember where a bucket was packed."""
        stream = self._current()
        event = stream.record_event() if len(self.known) > 1 else None
        self._packed[bucket] = (stream, event)

    def before_launch(self, bucket: int) -> None:
        """Have the current stream, for which a launch waits, wait for the bucket's packing."""
        packed = self._packed[bucket]
        stream = self._current()
        if packed is not None and packed[0] != stream:
            if packed[1] is None:
                stream.wait_stream(packed[0])
            else:
                stream.wait_event(packed[1])

    def after_arrival(self) -> None:
        """Have all known streams wait for averages and updates on the current one.

        Nobody tells when another of them reads a parameter that has arrived.
        """
        stream = self._know(self._current())
        others = [each for each in self.known if each != stream]
        if others:
            event = stream.record_event()
            for each in others:
                each.wait_event(event)

    def finish(self) -> None:
        """Have the host wait for all known streams, before memory that they use is freed."""
        for stream in self.known:
            stream.synchronize()

    def _know(self, stream: Any) -> Any:
        if stream not in self.known:
            self.known.append(stream)
        return stream


def streams_of(parameters: Iterable[torch.Tensor], buckets: int) -> list[BucketStreams]:
    """Return what keeps the order of streams, for each GPU that has parameters."""
    devices = dict.fromkeys(p.device for p in parameters if p.is_cuda)
    return [
        BucketStreams(buckets, partial(torch.cuda.current_stream, device), device)
        for device in devices
    ]


def refuse_capture() -> None:
    """Refuse to be captured in a CUDA graph.

    Raises
    ------
    RuntimeError
        While the current stream is captured.
    """
    if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(CAPTURED)


def flags_on(device: torch.device, flags: Sequence[bool]) -> torch.Tensor:
    """Put flags on a device as numbers; the host does not wait."""
    numbers = torch.tensor([float(flag) for flag in flags], pin_memory=device.type == "cuda")
    return numbers.to(device, non_blocking=True)


def read_flags(flags: torch.Tensor, work: Work) -> list[bool]:
    """Return which flags a launch has left above 0.

    The host waits for that launch, on a stream of its own: not for what compute it has queued.
    """
    if not flags.is_cuda:
        work.wait()
        return [number > 0 for number in flags.tolist()]
    side: Any = torch.cuda.Stream(flags.device)
    with torch.cuda.stream(side):
        work.wait()
        numbers = torch.empty_like(flags, device="cpu", pin_memory=True)
        numbers.copy_(flags, non_blocking=True)
        flags.record_stream(side)
        side.synchronize()
    return [number > 0 for number in numbers.tolist()]
