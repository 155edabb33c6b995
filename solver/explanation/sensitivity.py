"""What would make the iteration shorter, found by running it again."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from glob import escape

from solver.costs import Network, scale
from solver.explanation.critical import WAIT
from solver.explanation.explain import Explanation
from solver.graph import COMPUTE, Graph
from solver.simulation.engine import Timeline, iteration_time
from solver.simulation.what_if import Change, Rerun, apply_changes
from solver.units import same

BANDWIDTH_DOUBLE = "bandwidth_double"
BANDWIDTH_FREE = "bandwidth_free"
CHANNEL_DOUBLE = "channel_double"
STARTUP_HALF = "startup_half"
STARTUP_FREE = "startup_free"
COMPUTE_HALF = "compute_half"
TENSOR_FREE = "tensor_free"
OP_HALF = "op_half"

#: How many tensors are tried, and how many channels, one simulation each.
TENSORS, CHANNELS = 3, 17


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One thing made cheaper, and what the iteration takes then.

    Attributes
    ----------
    name
        ``bandwidth_double``, ``bandwidth_free`` (launches take their least time; both on all
        channels and links), ``channel_double`` (twice the bandwidth of one channel of several;
        links, which others may cross, keep theirs), ``startup_half``, ``startup_free`` (steps
        included), ``compute_half`` (all compute ops take half their time), ``tensor_free`` (one
        collective is gone) or ``op_half`` (one compute op takes half its time). Of a program, run
        again as it is: ``compute_faster``, ``bandwidth_faster``, ``channel_faster`` and
        ``startup_lower`` (by a tenth each), ``startup_free`` and ``copies_free``.
    op
        Id of the one op, None otherwise.
    channel
        The one channel, None otherwise.
    iteration_time_us
        As simulated.
    gain_us
        How much less that is; 0 within the tolerance, negative when the policy does worse on an
        easier problem, as rules that do not search sometimes do.
    """

    name: str
    op: str | None
    channel: str | None
    iteration_time_us: float
    gain_us: float


def sensitivities(
    graph: Graph, network: Network, rerun: Rerun, timeline: Timeline, explanation: Explanation
) -> tuple[Sensitivity, ...]:
    """Simulate the iteration with one thing cheaper at a time.

    Up to :data:`TENSORS` tensors are tried: most exposed first, then largest, then by position; and
    the longest compute op on the critical path, the first of equals, if there is one. Of more than
    :data:`CHANNELS` channels those are tried on which the critical path is longest, then those that
    carry longest.

    Parameters
    ----------
    graph, network, rerun
        What was simulated, and how to run it again: :func:`solver.simulation.what_if.carried` for
        an explicit plan, ``lambda _: policy`` for a policy, which then decides anew.
    timeline, explanation
        The iteration as it is.

    Notes
    -----
    Nine simulations at most, and one for each channel that is tried, of several.
    """

    def cost(name: str, bandwidth: float, startup: float) -> Sensitivity:
        other = network.faster(bandwidth, startup)
        return compared(name, iteration_time(graph, other, rerun(graph)))

    def channel_double(channel: str) -> Sensitivity:
        other = replace(
            network, cost=lambda lane: scale(network(lane), 1.0 + (lane.channel == channel))
        )
        after = iteration_time(graph, other, rerun(graph))
        return compared(CHANNEL_DOUBLE, after, channel=channel)

    def change(name: str, op: str | None, what: Change) -> Sensitivity:
        other = apply_changes(graph, [what])
        return compared(name, iteration_time(other, network, rerun(other)), op=op)

    def compared(
        name: str, after: float, *, op: str | None = None, channel: str | None = None
    ) -> Sensitivity:
        before = timeline.iteration_time
        gain = 0.0 if same(before, after) else before - after
        return Sensitivity(name, op, channel, after, gain)

    def every() -> Iterator[Sensitivity]:
        yield cost(BANDWIDTH_DOUBLE, 2.0, 1.0)
        yield cost(BANDWIDTH_FREE, math.inf, 1.0)
        yield from map(channel_double, _tried(explanation))
        yield cost(STARTUP_HALF, 1.0, 0.5)
        yield cost(STARTUP_FREE, 1.0, 0.0)
        yield change(COMPUTE_HALF, None, Change("*", duration_factor=0.5))
        largest = sorted(explanation.tensors, key=lambda t: (-t.exposed_us, -t.bytes))
        for tensor in largest[:TENSORS]:
            yield change(TENSOR_FREE, tensor.id, Change(escape(tensor.id), remove=True))
        computing = [step for step in explanation.critical_path if step.kind == COMPUTE]
        if computing:
            op = max(computing, key=lambda step: step.end_us - step.start_us).ops[0]
            yield change(OP_HALF, op, Change(escape(op), duration_factor=0.5))

    return tuple(every())


def _tried(explanation: Explanation) -> list[str]:
    """List the channels of which each is tried at twice its bandwidth, in their order."""
    channels = [each.channel for each in explanation.channels]
    if len(channels) <= CHANNELS:
        return channels if len(channels) > 1 else []
    critical = dict.fromkeys(channels, 0.0)
    for step in explanation.critical_path:
        if step.kind != WAIT and step.channel is not None:
            critical[step.channel] += step.end_us - step.start_us
    weight = {each.channel: (critical[each.channel], each.busy_us) for each in explanation.channels}
    heaviest = set(sorted(channels, key=weight.__getitem__, reverse=True)[:CHANNELS])
    return [channel for channel in channels if channel in heaviest]
