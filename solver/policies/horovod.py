"""Horovod: a background loop that fuses whatever is ready at each of its ticks."""

from collections.abc import Sequence
from math import ceil

from solver.buckets import Launch
from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Rule


def horovod(
    chain: Chain,
    costs: Sequence[Cost],
    *,
    cycle_time_us: float = 1_000.0,
    fusion_threshold_bytes: int = 134_217_728,
) -> Sequence[Rule]:
    """Fuse what is ready at each tick of a cycle, in buffers of bounded size, first in, first out.

    The first cycle starts at 0, each further one at max(start of the previous one + cycle time,
    end of the previous one's sends). A cycle takes the tensors released by its start, inclusive,
    and sends them in release order: a buffer closes before the first tensor that does not fit,
    and a tensor larger than a buffer goes alone. A tensor of another kind closes a buffer too, and
    each channel has cycles of its own. Times are compared exactly.

    Parameters
    ----------
    chain, costs
        The tensors and what a launch costs.
    cycle_time_us
        HOROVOD_CYCLE_TIME [us].
    fusion_threshold_bytes
        HOROVOD_FUSION_THRESHOLD [bytes].

    Notes
    -----
    The defaults are those of Horovod 0.21 and later, 1 ms and 128 MiB; 5,000 us and 64 MiB
    reproduce the versions that PACE and OSF measured.

    References
    ----------
    .. [1] A. Sergeev, M. Del Balso, Horovod, arXiv:1802.05799, 2018, Section 4.
    .. [2] Horovod documentation, Tensor Fusion; release notes of 0.21.0 for the defaults.
    """
    sizes = chain.bytes.tolist()
    return [
        _Cycles(sizes, chain.lane, cycle_time_us, fusion_threshold_bytes) for _ in chain.channels
    ]


class _Cycles:
    """The loop; ticks at which nothing is pending are computed, not simulated."""

    def __init__(
        self, sizes: Sequence[int], lanes: Sequence[int], cycle_time: float, threshold: int
    ) -> None:
        self._sizes = sizes
        self._lanes = lanes
        self._cycle_time = cycle_time
        self._threshold = threshold
        self._pending: list[int] = []
        self._buffers: list[Launch] = []  # of this cycle, the next one last
        self._tick = 0.0  # start of the next cycle, were nothing pending before it
        self._sending = False

    def release(self, tensor: int, now: float) -> None:
        """Put a tensor in the queue that the next cycle takes."""
        self._pending.append(tensor)

    def launch(self, now: float) -> Launch | float | None:
        """Send the cycle's next buffer; else start a cycle, now or at the tick returned."""
        if self._buffers:
            return self._buffers.pop()
        if self._sending:  # the channel is free: the cycle's last buffer ends now
            self._sending = False
            self._tick = max(self._tick, now)
        if not self._pending:
            return None
        self._tick = self._tick_from(now)
        if self._tick > now:
            return self._tick
        self._buffers = self._fused(sorted(self._pending))[::-1]
        self._pending = []
        self._sending = True
        self._tick += self._cycle_time
        return self._buffers.pop()

    def _tick_from(self, now: float) -> float:
        """First tick at ``now`` or later: idle cycles start exactly one cycle time apart."""
        idle = max(0, ceil((now - self._tick) / self._cycle_time))
        if idle and self._tick + (idle - 1) * self._cycle_time >= now:  # the quotient rounded up
            idle -= 1
        return max(now, self._tick + idle * self._cycle_time)

    def _fused(self, tensors: Sequence[int]) -> list[Launch]:
        buffers: list[Launch] = []
        held: list[int] = []
        held_bytes = 0
        for tensor in tensors:
            size = self._sizes[tensor]
            full = held_bytes + size > self._threshold
            if held and (full or self._lanes[held[0]] != self._lanes[tensor]):
                buffers.append(Launch(tuple(held), held_bytes))
                held, held_bytes = [], 0
            held.append(tensor)
            held_bytes += size
        return [*buffers, Launch(tuple(held), held_bytes)]
