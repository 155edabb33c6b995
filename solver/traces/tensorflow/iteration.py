"""One task's step as a graph, where it has collectives."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from solver.graph import COMPUTE, NETWORK, REDUCE_SCATTER, Op
from solver.traces.channel_times import waiting_said
from solver.traces.samples import samples_of
from solver.traces.step_ops import StepOps, numbered
from solver.traces.tensorflow.events import COLLECTIVES, Ran, StepRecording
from solver.traces.tensorflow.rows import inputs_of, op_ids
from solver.traces.trace import Sample
from solver.traces.unsized_spans import SpanLaunch, step_of

#: An op that begins so soon after what it waited for did not wait for the host [us].
_SLACK = 0.01


class TaskStep(NamedTuple):
    """A task's step.

    Attributes
    ----------
    step
        Its ops, and the collectives with the time that each held the channel, by end.
    samples
        Launches that ran alone.
    warnings
        What was taken for the times of the others, in sentences.
    """

    step: StepOps
    samples: tuple[Sample, ...]
    warnings: tuple[str, ...]


def collective_tasks(ops: Sequence[Ran]) -> list[str]:
    """Name the tasks that ran collectives, in order."""
    return sorted({op.task for op in ops if op.type in COLLECTIVES})


def iteration(recording: StepRecording, task: str, known: Mapping[str, int]) -> TaskStep:
    """Build the graph of a task's step: each op waits for its inputs, compute is one line.

    An op that computes and began while another did counts from its end; time in which none did and
    nothing was waited for is an op of the host, before a collective too. A collective has the
    bytes of its result, else those that are known by its name. The result of a reduce-scatter is a
    share: the bytes of the whole must be known. One without bytes keeps its time.

    Notes
    -----
    O(ops log ops + inputs).
    """
    own = [op for op in recording.ops if op.task == task]
    ids = op_ids(own)
    ends = {name: op.end for name, op in zip(ids, own, strict=True)}
    seen = dict.fromkeys(ids, 1)
    ops: list[Op] = []
    sent: list[SpanLaunch] = []
    line: tuple[str, ...] = ()
    at = min((op.start for op in own), default=0.0)
    for name, op, after in zip(ids, own, inputs_of(own, ids), strict=True):
        kind = COLLECTIVES.get(op.type, COMPUTE)
        if kind == COMPUTE:
            idle = op.start - max([at, *(ends[one] for one in after)])
            if idle > _SLACK:
                host = numbered(f"{task} host", seen)
                before = dict.fromkeys((*line, *after))
                ops.append(Op(host, COMPUTE, round(idle, 3), None, tuple(before), stream=task))
            took = max(op.end - max(op.start, at), 0.0)
            ops.append(Op(name, COMPUTE, round(took, 3), None, tuple(after), stream=task))
            at, line = max(at, op.end), (name,)
            continue
        size = None if kind == REDUCE_SCATTER else recording.bytes.get((task, op.name))
        size = known.get(op.name) if size is None else size
        launch = SpanLaunch(name, op.name, kind, size or None, op)
        idle = op.start - max([at, *(ends[i] for i in after), *(one.span.end for one in sent)])
        if idle > _SLACK:  # it comes after no collective, so that they can still be sent as one
            host = numbered(f"{task} host", seen)
            ops.append(Op(host, COMPUTE, round(idle, 3), None, line, stream=task))
            at, line = op.start, (host,)
        ops.append(launch.op(dict.fromkeys((*after, *line)) if idle > _SLACK else after))
        sent.append(launch)
    step, held = step_of(ops, sent)
    samples = tuple(
        sample
        for each in sorted(held)
        if each.is_alone
        for one in [sent[each.place]]
        for sample in samples_of(NETWORK, one.kind, one.size, [each.time])
    )
    return TaskStep(step, samples, waiting_said(held))
