"""Horovod: a background loop that fuses whatever is ready at each of its ticks."""

from collections import deque
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from solver.buckets import Launch
from solver.chain import Chain
from solver.costs import Cost
from solver.graph import SEND_RECV
from solver.simulation.engine import Rule


def horovod(
    chain: Chain,
    costs: Sequence[Cost],
    *,
    cycle_time_us: float = 1_000.0,
    fusion_threshold_bytes: int = 134_217_728,
    waits_for_sends: bool = False,
    tensor_time_us: float = 0.0,
) -> Sequence[Rule]:
    """Fuse what is ready at each tick of a cycle, in buffers of bounded size, first in, first out.

    The first cycle starts at 0, each further one a cycle time after the start of the one before,
    or when the loop is done with that one, whichever is later. A cycle takes the tensors released
    by its start, inclusive, and sends them in release order: a buffer closes before the first
    tensor that does not fit, and a tensor larger than a buffer goes alone. A tensor of another
    kind closes a buffer too, and each channel has cycles of its own. Times are compared exactly.

    With NCCL the loop hands a buffer over and goes on: buffers wait for the channel, not the loop.
    With MPI and gloo it is done with a buffer when that has been sent (``waits_for_sends``).

    Parameters
    ----------
    chain, costs
        The tensors and what a launch costs.
    cycle_time_us
        HOROVOD_CYCLE_TIME [us].
    fusion_threshold_bytes
        HOROVOD_FUSION_THRESHOLD [bytes].
    waits_for_sends
        Whether the loop waits for the end of each send: with MPI and gloo, not with NCCL.
    tensor_time_us
        What the loop spends on each tensor of a buffer before it hands the buffer over:
        negotiation and the copies into it [us].

    Notes
    -----
    The defaults are those of Horovod 0.21 and later with NCCL, 1 ms and 128 MiB; 5,000 us and
    64 MiB reproduce the versions that PACE and OSF measured. No time per tensor is published:
    it is for fits to measured iterations.

    References
    ----------
    .. [1] A. Sergeev, M. Del Balso, Horovod, arXiv:1802.05799, 2018, Section 4.
    .. [2] Horovod documentation, Tensor Fusion; release notes of 0.21.0 for the defaults.
    .. [3] github.com/horovod/horovod, common/operations.cc (``RunLoopOnce``) and
           common/ops/gpu_operations.cc (``FinalizeGPUQueue`` returns at once).
    """
    sizes = chain.bytes.tolist()
    settings = HorovodLoop(
        cycle_time_us, fusion_threshold_bytes, waits=waits_for_sends, tensor_time=tensor_time_us
    )
    lanes = [
        -1 - tensor if chain.lanes[lane].kind == SEND_RECV else lane
        for tensor, lane in enumerate(chain.lane)
    ]  # sends are not fused
    return [Loop(sizes, lanes, settings) for _ in chain.channels]


class HorovodLoop(NamedTuple):
    """What a loop is set to: times [us], bytes of a buffer, and whether it waits for its sends."""

    cycle_time: float
    threshold: int
    waits: bool = False
    tensor_time: float = 0.0


class Loop:
    """The loop; ticks at which nothing is pending are computed, not simulated."""

    def __init__(self, sizes: Sequence[int], lanes: Sequence[int], settings: HorovodLoop) -> None:
        self._sizes = sizes
        self._lanes = lanes
        self._settings = settings
        self._pending: list[tuple[int, float]] = []  # tensors that no cycle took, their releases
        self._buffers: deque[Launch] = deque()  # of this cycle, not handed over
        self._handed: deque[tuple[Launch, float]] = deque()  # handed over, and since when
        self._tick = 0.0  # one cycle time after the last cycle's start
        self._done = 0.0  # when the loop is done with all that it has begun
        self._sending = False  # and the loop waits for it

    def release(self, tensor: int, now: float) -> None:
        """Put a tensor in the queue that a cycle takes."""
        self._pending.append((tensor, now))

    def launch(self, now: float) -> Launch | float | None:
        """Send the first buffer that was handed over; else say when the next one may be."""
        if self._sending:  # the channel is free: the send ends now
            self._sending = False
            self._done = now
        tick = self._run(now)
        if not self._handed:
            return tick
        buffer, since = self._handed[0]
        if since > now:
            return since
        self._handed.popleft()
        self._sending = self._settings.waits
        return buffer

    def _run(self, now: float) -> float | None:
        """Hand buffers over, cycle after cycle; return the start of a cycle that is yet to come."""
        while not (self._settings.waits and self._handed):
            if not self._buffers:
                if not self._pending:
                    return None
                tick = self._tick_from(self._pending[0][1])
                if tick > now:
                    return tick
                self._buffers.extend(self._take(tick))
                self._tick, self._done = tick + self._settings.cycle_time, tick
            buffer = self._buffers.popleft()
            self._done += len(buffer.bucket) * self._settings.tensor_time
            self._handed.append((buffer, self._done))
        return None

    def _tick_from(self, release: float) -> float:
        """First tick at ``release`` or later: idle cycles start exactly one cycle time apart."""
        first, cycle = max(self._tick, self._done), self._settings.cycle_time
        idle = max(0, ceil((release - first) / cycle))
        if idle and first + (idle - 1) * cycle >= release:  # the quotient rounded up
            idle -= 1
        return max(release, first + idle * cycle)

    def _take(self, tick: float) -> list[Launch]:
        """Put the tensors released by a tick in buffers."""
        ready = sorted(tensor for tensor, release in self._pending if release <= tick)
        self._pending = [(tensor, release) for tensor, release in self._pending if release > tick]
        buffers: list[Launch] = []
        held: list[int] = []
        held_bytes = 0
        for tensor in ready:
            size = self._sizes[tensor]
            full = held_bytes + size > self._settings.threshold
            if held and (full or self._lanes[held[0]] != self._lanes[tensor]):
                buffers.append(Launch(tuple(held), held_bytes))
                held, held_bytes = [], 0
            held.append(tensor)
            held_bytes += size
        return [*buffers, Launch(tuple(held), held_bytes)]
