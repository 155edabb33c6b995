"""What a kernel of NCCL's carries: NCCL's own ranges around the call that launched it.

A call launches its kernel itself, but for calls of a group: these launch when the group ends, and
where they make one kernel it carries them all.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from solver.traces.nsys.tables import Range
from solver.traces.spans import enclosing

if TYPE_CHECKING:
    from solver.traces.nsys.payloads import Payload

_GROUP_END = "ncclGroupEnd"
_COMMUNICATORS = "ncclComm"
_SEND, _RECEIVE, _BOTH, _EXCHANGE = "send", "recv", "batch_isend_irecv", "all_to_all"
#: What NCCL's calls are to a reader of PyTorch's traces.
_COLLECTIVES = {
    "ncclAllReduce": "allreduce",
    "ncclAllGather": "all_gather",
    "ncclReduceScatter": "reduce_scatter",
    "ncclBroadcast": "broadcast",
    "ncclBcast": "broadcast",
    "ncclReduce": "reduce",
    "ncclAlltoAll": _EXCHANGE,
    "ncclSend": _SEND,
    "ncclRecv": _RECEIVE,
}
#: Those of which a payload has a rank's share.
_SHARED = {"all_gather", "reduce_scatter"}


def is_call(name: str) -> bool:
    """Tell whether a range of NVTX's is read here, by its name."""
    return name in _COLLECTIVES or name == _GROUP_END or name.startswith(_COMMUNICATORS)


class KernelLoad(NamedTuple):
    """What a kernel carries.

    Attributes
    ----------
    collective
        As PyTorch's profiler names it.
    bytes
        Of the whole; None when unknown.
    communicator, workers
        Its number, and how many share it; None when unknown.
    """

    collective: str
    bytes: int | None
    communicator: int | None
    workers: int | None


class NcclCalls:
    """NCCL's ranges of one process.

    Attributes
    ----------
    workers
        How many share each communicator that was made while the recording ran.
    rank
        Of this process in the largest of them, with how many there are; None when unknown.
    """

    def __init__(self, ranges: Iterable[Range]) -> None:
        self.workers: dict[int, int] = {}
        self.rank: tuple[int, int] | None = None
        self._single: dict[tuple[str, Payload | None], KernelLoad | None] = {}
        self._calls: dict[int, list[Range]] = {}
        self._ends: dict[int, list[Range]] = {}
        for one in sorted(ranges, key=attrgetter("start")):
            if one.name in _COLLECTIVES:
                self._calls.setdefault(one.thread, []).append(one)
            elif one.name == _GROUP_END:
                self._ends.setdefault(one.thread, []).append(one)
            elif one.name.startswith(_COMMUNICATORS) and one.payload and one.payload.workers:
                self._made(one.payload.communicator, one.payload.workers, one.payload.rank)

    def _made(self, communicator: int | None, workers: int, rank: int | None) -> None:
        if communicator is not None:
            self.workers[communicator] = workers
        if rank is not None and (self.rank is None or workers > self.rank[1]):
            self.rank = rank, workers

    def carried(self, thread: int, launches: Sequence[float]) -> list[KernelLoad | None]:
        """Return what the kernels carry that a thread launched at these times, in order.

        None where it cannot be told: of several kernels of one group, unless its calls are alike.

        Notes
        -----
        O(kernels log calls + calls).
        """
        calls, ends = self._calls.get(thread, []), self._ends.get(thread, [])
        result: list[KernelLoad | None] = []
        groups: dict[float, tuple[list[Range], list[int]]] = {}
        pending: list[Range] = []
        at = 0
        for i, time in enumerate(launches):
            while at < len(calls) and calls[at].start <= time:
                pending.append(calls[at])
                at += 1
            own = pending.pop() if pending and pending[-1].end >= time else None
            result.append(self._of_one(own) if own else None)
            end = None if own else enclosing(ends, time)
            if end is not None:
                groups.setdefault(end.start, (pending, []))[1].append(i)
                pending = []
        for members, kernels in groups.values():
            alike = len({(one.name, one.payload) for one in members}) == 1
            if len(kernels) == 1:
                result[kernels[0]] = self._together(members)
            elif alike and len(members) == len(kernels):
                for i in kernels:
                    result[i] = self._together(members[:1])
        return result

    @property
    def threads(self) -> Iterable[int]:
        """Those that called, or ended a group."""
        return dict.fromkeys((*self._calls, *self._ends))

    def _of_one(self, call: Range) -> KernelLoad | None:
        """Return what the kernel of one call carries, the same object for calls alike."""
        key = call.name, call.payload
        if key not in self._single:
            self._single[key] = self._together([call])
        return self._single[key]

    def _together(self, calls: Sequence[Range]) -> KernelLoad | None:
        """Return what one kernel of calls carries; None of no calls, or of several kinds."""
        kinds = {_COLLECTIVES[call.name] for call in calls}
        numbers = {call.payload.communicator for call in calls if call.payload}
        communicator = numbers.pop() if len(numbers) == 1 else None
        workers = None if communicator is None else self.workers.get(communicator)
        if kinds and kinds <= {_SEND, _RECEIVE}:
            sums = [_bytes(c for c in calls if _COLLECTIVES[c.name] == kind) for kind in kinds]
            size = None if None in sums else max(one or 0 for one in sums)
            kind = _BOTH if len(kinds) > 1 else min(kinds)
            kind = kind if len(calls) <= len(kinds) else _EXCHANGE
            return KernelLoad(kind, size, communicator, workers)
        if len(kinds) != 1:
            return None
        kind, size = kinds.pop(), _bytes(calls)
        if kind in _SHARED and size is not None:
            size = size * workers if workers else None
        return KernelLoad(kind, size, communicator, workers)


def _bytes(calls: Iterable[Range]) -> int | None:
    """Sum the bytes of calls; None where those of one are unknown."""
    sizes = [call.payload and call.payload.bytes for call in calls]
    return None if None in sizes else sum(size or 0 for size in sizes)
