"""ByteScheduler: slices by priority, with a credit that keeps the network busy."""

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from solver.buckets import Launch
from solver.chain import Chain, chain_of
from solver.costs import Cost, Network
from solver.graph import Graph
from solver.limits import MAX_BYTES, MAX_TUNED_LAUNCHES
from solver.policies.horovod import HorovodLoop, Loop
from solver.simulation.engine import Rule, iteration_time
from solver.simulation.kernel.credit import CreditQueue
from solver.simulation.rules import credit_queues, most_urgent, slice_count, slice_tensors
from solver.units import same

#: Value of a size that is to be searched.
AUTO = "auto"
#: Slices that are tried [bytes], and credits as multiples of the slice.
PARTITIONS = tuple(1_000_000 * 2**k for k in range(7))
CREDITS = (1, 2, 4)


def bytescheduler(
    chain: Chain,
    costs: Sequence[Cost],
    *,
    partition_bytes: int | str = 4_000_000,
    credit_bytes: int | str = 16_000_000,
    cycle_time_us: float | None = None,
    tensor_time_us: float = 0.0,
) -> Sequence[Rule]:
    """Send slices by priority; at most a credit of bytes is issued and not yet finished.

    Slices of the most urgent released tensor are issued first: largest tail; ties go to the later
    release, then to position. Issued slices queue first in, first out, and are not recalled. A
    slice takes its bytes from the credit when it is issued and returns them when it ends; when
    the most urgent slice exceeds what is left, nothing is issued, but one slice may always go
    when none is in flight. What is issued at a time is decided after all that happens by then.

    By itself it issues to the network, as over parameter servers. With ``cycle_time_us`` it issues
    to Horovod, as its all-reduce does: slices wait for a tick of Horovod's loop, which fuses what
    was issued by then, and each takes ``tensor_time_us`` of the loop (:func:`horovod`, with NCCL).
    Then the credit is also what a tick may send at most, and it comes back only for the tick
    after the end: a small credit leaves a fast network idle. Neighbours of a buffer go as one
    launch where a launch can carry them: slices of one tensor, or whole tensors.

    Parameters
    ----------
    chain, costs
        The tensors and what a launch costs.
    partition_bytes
        Size of a slice [bytes]; "auto" must have been replaced by :func:`tune`.
    credit_bytes
        Most bytes issued and not finished, each channel its own; "auto" likewise.
    cycle_time_us
        HOROVOD_CYCLE_TIME [us]; None where slices go to the network at once.
    tensor_time_us
        What Horovod's loop spends on each slice [us].

    Notes
    -----
    The defaults are those of the published code, 10^6 and 4 x 10^6 parameters of 4 bytes. The
    paper tunes both by Bayesian optimisation; "auto" simulates a fixed grid instead, see
    :func:`tune`. The published code issues a slice as soon as any credit is left, so it may
    overdraw the credit by one slice.

    References
    ----------
    .. [1] Y. Peng et al., A Generic Communication Scheduler for Distributed DNN Training
           Acceleration, SOSP 2019, Sections 3 and 4.
    .. [2] github.com/bytedance/byteps, branch bytescheduler, bytescheduler/common/bytecore.py.
    """
    units = slice_tensors(chain, int(partition_bytes))
    issuing = credit_queues(units, most_urgent(units, chain), chain, int(credit_bytes))
    if cycle_time_us is None:
        return issuing
    settings = HorovodLoop(cycle_time_us, MAX_BYTES, tensor_time=tensor_time_us)
    return [_OverHorovod(queue, chain, settings) for queue in issuing]


def tune(
    graph: Graph,
    network: Network,
    partition: int | str,
    credit: int | str,
    cycle_time_us: float | None = None,
    tensor_time_us: float = 0.0,
) -> tuple[int, int]:
    """Replace "auto" by the value with the least simulated time; the first wins a tie.

    The grid, in this order: slices of 1, 2, 4, ... 64 MB, without those that make more than
    :data:`MAX_TUNED_LAUNCHES` launches, and for each a credit of 1, 2 and 4 slices. A value that is
    given stays.
    """
    if isinstance(partition, int) and isinstance(credit, int):
        return partition, credit
    best: tuple[float, int, int] | None = None
    for size, limit in _grid(chain_of(graph), partition, credit):
        policy = partial(
            bytescheduler,
            partition_bytes=size,
            credit_bytes=limit,
            cycle_time_us=cycle_time_us,
            tensor_time_us=tensor_time_us,
        )
        time = iteration_time(graph, network, policy)
        if best is None or (time < best[0] and not same(time, best[0])):
            best = time, size, limit
    assert best is not None, "the longest slice is always tried"
    return best[1:]


def _grid(chain: Chain, partition: int | str, credit: int | str) -> Iterator[tuple[int, int]]:
    tried = [p for p in PARTITIONS if slice_count(chain, p) <= MAX_TUNED_LAUNCHES] or [
        PARTITIONS[-1]
    ]
    for size in [partition] if isinstance(partition, int) else tried:
        for times in CREDITS[:1] if isinstance(credit, int) else CREDITS:
            yield size, credit if isinstance(credit, int) else times * size


class _OverHorovod:
    """Sends slices as Horovod's loop hands them over; to the loop each is a tensor."""

    def __init__(self, issuing: CreditQueue, chain: Chain, settings: HorovodLoop) -> None:
        self._issuing = issuing
        self._chain = chain
        self._slices: list[Launch] = []
        self._sizes: list[int] = []
        self._lanes: list[int] = []
        self._loop = Loop(self._sizes, self._lanes, settings)
        self._buffer: deque[Launch] = deque()

    def release(self, tensor: int, now: float) -> None:
        """Count the tensor in."""
        self._issuing.release(tensor, now)

    def launch(self, now: float) -> Launch | float | None:
        """Give the loop what is issued by now, and send the rest of a buffer, or the next one."""
        self._issuing.settle(now)
        for launch, since in self._issuing.take_issued():
            self._slices.append(launch)
            self._sizes.append(launch.bytes)
            self._lanes.append(self._chain.lane[launch.bucket[0]])
            self._loop.release(len(self._slices) - 1, since)
        if not self._buffer:
            answer = self._loop.launch(now)
            if not isinstance(answer, Launch):
                return answer
            self._buffer.extend(self._fused([self._slices[k] for k in answer.bucket]))
        self._issuing.wire = self._buffer[0].bytes
        return self._buffer.popleft()

    def _fused(self, slices: Sequence[Launch]) -> Iterator[Launch]:
        """Fuse neighbours: slices of one tensor, then whole tensors."""
        runs = [
            Launch(bucket, sum(part.bytes for part in parts))
            for bucket, parts in groupby(slices, key=lambda part: part.bucket)
        ]
        for whole, some in groupby(runs, key=self._is_whole):
            group = list(some)
            if whole:
                members = sorted(launch.bucket[0] for launch in group)
                yield Launch(tuple(members), sum(launch.bytes for launch in group))
            else:
                yield from group

    def _is_whole(self, launch: Launch) -> bool:
        return launch.bytes == int(self._chain.bytes[launch.bucket[0]])
