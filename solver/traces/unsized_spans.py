"""A step of launches that are known by their spans; without bytes one keeps its time."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from solver.graph import NETWORK, Op
from solver.traces.channel_times import HeldChannel, held_times
from solver.traces.spans import Span
from solver.traces.step_ops import StepOps
from solver.traces.unsized import ChannelLaunch, in_channel_order, unsized_op


class SpanLaunch(NamedTuple):
    """A collective of a step.

    Attributes
    ----------
    id, name
        In the graph, and in the file.
    kind, size
        Of the collective; no size [bytes] where nothing tells it.
    span
        When it ran.
    """

    id: str
    name: str
    kind: str
    size: int | None
    span: Span

    def op(self, after: Iterable[str]) -> Op:
        """Return its op; one without bytes takes no time until that is known."""
        if self.size is None:
            return unsized_op(self.id, 0.0, tuple(after), NETWORK)
        return Op(self.id, self.kind, None, self.size, tuple(after))


def step_of(ops: Sequence[Op], launches: Sequence[SpanLaunch]) -> tuple[StepOps, list[HeldChannel]]:
    """Return a step with the time that each launch held the network, and these times.

    Parameters
    ----------
    ops
        With those of the launches.
    launches
        In any order.

    Notes
    -----
    O(ops + n log n) for n launches.
    """
    held = held_times([each.span for each in launches])
    rows = [(launches[each.place], each.time) for each in held]
    took = {one.id: round(time, 3) for one, time in rows}
    timed = [
        op._replace(duration_us=took[op.id]) if op.id in took and op.bytes is None else op
        for op in ops
    ]
    order = [
        ChannelLaunch(one.id, NETWORK, one.span.end - time, one.span.end, one.size is not None)
        for one, time in rows
    ]
    measured = tuple((one.id, took[one.id]) for one, _ in rows if one.size is not None)
    unsized = tuple((one.name, one.kind, took[one.id]) for one, _ in rows if one.size is None)
    return StepOps(tuple(in_channel_order(timed, order)), measured, unsized), held
