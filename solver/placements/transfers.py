"""Transfers between hosts as ops of a graph, for the one simulator.

Each direction of a network interface is a channel: a transfer holds the sender's, then the
receiver's. What a switch lies between is stored and forwarded, chunk by chunk.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from solver.costs import Affine, ChannelCost, Cost, Network
from solver.graph import BROADCAST, COMPUTE, Graph, Op, build

#: The op from whose end on all gradients exist.
START = "start"


def carry(
    ops: list[Op], name: str, size: int, channels: Sequence[str], after: tuple[str, ...]
) -> tuple[str, ...]:
    """Send bytes over channels, one after another; return what comes after the arrival.

    Over no channels it is what the transfer itself comes after.
    """
    for hop, channel in enumerate(channels):
        ops.append(Op(f"{name}/{hop}", BROADCAST, None, size, after, channel))
        after = (ops[-1].id,)
    return after


def join(
    ops: list[Op], name: str, after: Sequence[str], duration_us: float = 0.0
) -> tuple[str, ...]:
    """Add an op that takes so long after others; return what comes after it."""
    ops.append(Op(name, COMPUTE, duration_us, None, tuple(after)))
    return (name,)


def graph_of(
    name: str, ops: Sequence[Op], per_byte_us: Mapping[str, float]
) -> tuple[Graph, Network]:
    """Return transfers as a graph, and what they cost on its network.

    Parameters
    ----------
    name
        Name of the graph.
    ops
        With one collective and one compute op at least.
    per_byte_us
        Of each channel in use [us].
    """

    @cache
    def cost(lane: ChannelCost) -> Cost:
        return Affine(0.0, per_byte_us[lane.channel])

    return build(name, ops), Network(cost)
