"""One task's step as a graph, where it has collectives."""

from collections.abc import Mapping, Sequence

from solver.graph import COMPUTE, NETWORK, REDUCE_SCATTER, Op
from solver.traces.step_ops import StepOps
from solver.traces.tensorflow.events import COLLECTIVES, Ran, StepRecording
from solver.traces.tensorflow.rows import inputs_of, op_ids
from solver.traces.unsized import ChannelLaunch, in_channel_order, unsized_op


def collective_tasks(ops: Sequence[Ran]) -> list[str]:
    """Name the tasks that ran collectives, in order."""
    return sorted({op.task for op in ops if op.type in COLLECTIVES})


def iteration(recording: StepRecording, task: str, known: Mapping[str, int]) -> StepOps:
    """Build the graph of a task's step: each op waits for its inputs, compute is one stream.

    A collective has the bytes of its result, else those that are known by its name. The result of
    a reduce-scatter is a share: the bytes of the whole must be known. One without keeps its time.

    Notes
    -----
    O(ops + inputs).
    """
    own = [op for op in recording.ops if op.task == task]
    ops: list[Op] = []
    measured, unsized, launched = [], [], []
    for name, op, after in zip(op_ids(own), own, inputs_of(own), strict=True):
        took = round(op.end - op.start, 3)
        kind = COLLECTIVES.get(op.type, COMPUTE)
        if kind == COMPUTE:
            ops.append(Op(name, COMPUTE, took, None, tuple(after), stream=task))
            continue
        size = None if kind == REDUCE_SCATTER else recording.bytes.get((task, op.name))
        size = known.get(op.name) if size is None else size
        launched.append(ChannelLaunch(name, NETWORK, op.start, op.end, bool(size)))
        if not size:
            ops.append(unsized_op(name, took, after, NETWORK))
            unsized.append((op.name, kind, took))
            continue
        ops.append(Op(name, kind, None, size, tuple(after)))
        measured.append((name, took))
    return StepOps(tuple(in_channel_order(ops, launched)), tuple(measured), tuple(unsized))
