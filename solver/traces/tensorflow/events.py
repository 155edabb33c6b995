"""What the two forms of TensorFlow's traces have in common: ops, transfers, tasks."""

import re
from functools import lru_cache
from typing import NamedTuple

from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.traces.spans import length_of

#: Ops that are collectives, and the kind of each.
COLLECTIVES = {
    "CollectiveReduce": ALL_REDUCE,
    "CollectiveReduceV2": ALL_REDUCE,
    "CollectiveReduceV3": ALL_REDUCE,
    "NcclAllReduce": ALL_REDUCE,
    "HorovodAllreduce": ALL_REDUCE,
    "CollectiveGather": ALL_GATHER,
    "CollectiveGatherV2": ALL_GATHER,
    "HorovodAllgather": ALL_GATHER,
    "CollectiveReduceScatterV2": REDUCE_SCATTER,
    "HorovodReducescatter": REDUCE_SCATTER,
    "CollectiveBcastSend": BROADCAST,
    "CollectiveBcastSendV2": BROADCAST,
    "CollectiveBcastRecv": BROADCAST,
    "CollectiveBcastRecvV2": BROADCAST,
    "HorovodBroadcast": BROADCAST,
    "CollectiveAllToAllV2": ALL_TO_ALL,
    "CollectiveAllToAllV3": ALL_TO_ALL,
    "HorovodAlltoall": ALL_TO_ALL,
}

_TASK = re.compile(r"/job:([^/]+)/replica:\d+/task:(\d+)")


@lru_cache(maxsize=4_096)
def task_of(device: str) -> str | None:
    """Return a task in short: ``worker0`` of ``/job:worker/replica:0/task:0/...``; None of none."""
    found = _TASK.match(device)
    return f"{found[1]}{found[2]}" if found else None


class Ran(NamedTuple):
    """An op that a task ran [us].

    Attributes
    ----------
    name, type
        Of the op: ``fc1/MatMul``, ``MatMul``.
    task
        Where it ran.
    start, end
        When.
    inputs
        Names of ops that it waits for; those of other tasks as they are called here.
    data
        How many of the inputs, from the first, are tensors that it takes.
    """

    name: str
    type: str
    task: str
    start: float
    end: float
    inputs: tuple[str, ...]
    data: int = 0


class Sent(NamedTuple):
    """A tensor that a task sent to another.

    Attributes
    ----------
    tensor
        Name of the op that made it.
    origin, task
        From where to where.
    readers
        Names of the ops there that take it.
    maker
        Name of the op after which it can be sent: the tensor's own, where the trace has it.
    """

    tensor: str
    origin: str
    task: str
    readers: tuple[str, ...]
    maker: str | None


class StepRecording(NamedTuple):
    """A step.

    Attributes
    ----------
    ops
        By start, those at once in the order of the file.
    sent
        In the order of the ops that take them.
    bytes
        Of the results of ops, by task and name, where the file has them.
    dropped, assumed
        One sentence for each thing left out, and for each that the file does not say.
    on_host
        Names of collectives that ran on a GPU, of which the file has no kernel.
    unsound
        One sentence for each reason why times are not those of the ops.
    """

    ops: tuple[Ran, ...]
    sent: tuple[Sent, ...]
    bytes: dict[tuple[str, str], int]
    dropped: tuple[str, ...]
    assumed: tuple[str, ...]
    on_host: tuple[str, ...] = ()
    unsound: tuple[str, ...] = ()

    @property
    def length(self) -> float:
        """How long it took [us]."""
        return length_of(self.ops) if self.ops else 0.0
