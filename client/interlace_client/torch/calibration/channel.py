"""The channel whose launches are timed: a process group, one launch at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable, Protocol, TypeVar

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
#: Numbers of four bytes are sent.
_ELEMENT_BYTES = 4


class CalibrationChannel(Protocol):
    """What a calibration asks of the ranks; every method is called by all of them alike."""

    def run(self, sizes: Sequence[int]) -> list[float]:
        """Start launches of these sizes [bytes] at once; return when each ended here [us].

        Counted from the start of the first. They run in order, one after another.
        """

    def rest(self, seconds: float) -> None:
        """Send nothing for a while [s]."""

    def slowest(self, values: Sequence[float]) -> list[float]:
        """Return the largest of each value over the ranks."""

    def agreed(self, value: T) -> T:
        """Return the first rank's value."""

    def now(self) -> float:
        """Time on this rank [s], from any zero."""


class GroupChannel:
    """Launches of one kind in a process group of their own, beside the user's.

    Parameters
    ----------
    process_group
        The user's; the ranks agree over it while nothing is timed.
    own
        What runs the launches, one after another: of
        :func:`~interlace_client.torch.transport.own_group`.
    kind
        One of :data:`KINDS`.
    """

    def __init__(self, process_group: Any, own: Any, kind: str) -> None:
        self._group, self._own, self._start = process_group, own, KINDS[kind]
        self._workers = dist.get_world_size(process_group)
        is_gpu = torch.cuda.is_available() and "nccl" in str(dist.get_backend_config(process_group))
        self._device = torch.device("cuda", torch.cuda.current_device()) if is_gpu else "cpu"
        self._whole = self._share = torch.zeros(0, device=self._device)

    def is_supported(self) -> bool:
        """Tell whether all ranks' backends have this kind of collective."""
        try:
            self.run([_ELEMENT_BYTES])
        except (RuntimeError, NotImplementedError, AttributeError):
            lacking = 1.0
        else:
            lacking = 0.0
        return self.slowest([lacking]) == [0.0]

    def run(self, sizes: Sequence[int]) -> list[float]:
        """Start launches of these sizes [bytes] at once; return when each ended here [us]."""
        counts = [self._numbers(size) for size in sizes]
        if max(counts) > len(self._whole):
            self._whole = torch.zeros(max(counts), device=self._device)
            self._share = torch.zeros(max(counts) // self._workers, device=self._device)
        return self._timed(
            [
                (self._own, self._whole[:count], self._share[: count // self._workers])
                for count in counts
            ]
        )

    def rest(self, seconds: float) -> None:
        """Send nothing for a while [s]."""
        time.sleep(seconds)

    def slowest(self, values: Sequence[float]) -> list[float]:
        """Return the largest of each value over the ranks."""
        told = torch.tensor(values, dtype=torch.float64, device=self._device)
        dist.all_reduce(told, op=dist.ReduceOp.MAX, group=self._group)
        return [float(value) for value in told]

    def agreed(self, value: T) -> T:
        """Return the first rank's value."""
        told = [value]
        first = dist.get_process_group_ranks(self._group)[0]
        dist.broadcast_object_list(told, src=first, group=self._group)
        return told[0]

    def now(self) -> float:
        """Time on this rank [s], from any zero."""
        return time.monotonic()

    def _numbers(self, size: int) -> int:
        """Return how many numbers a launch sends: a multiple of the workers, who share them."""
        return -(-size // (_ELEMENT_BYTES * self._workers)) * self._workers

    def _timed(self, calls: Sequence[tuple[Any, torch.Tensor, torch.Tensor]]) -> list[float]:
        if self._device == "cpu":
            began = time.perf_counter()
            works = [self._start(*call) for call in calls]
            ends = []
            for work in works:
                work.wait()
                ends.append((time.perf_counter() - began) * 1e6)
            return ends
        start, *stamps = (torch.cuda.Event(enable_timing=True) for _ in range(1 + len(calls)))
        torch.cuda.synchronize()
        start.record()
        works = [self._start(*call) for call in calls]
        for work, stamp in zip(works, stamps):
            work.wait()  # of the stream, not of this thread
            stamp.record()
        torch.cuda.synchronize()
        return [float(start.elapsed_time(stamp)) * 1e3 for stamp in stamps]


def _all_reduce(group: Any, whole: torch.Tensor, share: torch.Tensor) -> Any:
    return group.allreduce([whole])


def _all_gather(group: Any, whole: torch.Tensor, share: torch.Tensor) -> Any:
    return group._allgather_base(whole, share)


def _reduce_scatter(group: Any, whole: torch.Tensor, share: torch.Tensor) -> Any:
    return group._reduce_scatter_base(share, whole)


def _broadcast(group: Any, whole: torch.Tensor, share: torch.Tensor) -> Any:
    return group.broadcast(whole, 0)


#: How a collective is started: on the whole tensor, and each worker's share of it.
KINDS: dict[str, Callable[[Any, torch.Tensor, torch.Tensor], Any]] = {
    "all_reduce": _all_reduce,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "broadcast": _broadcast,
}
