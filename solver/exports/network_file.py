"""The network of a plan as ASTRA-sim's analytical back end reads it: ``network.yml``.

A dimension is a ring of the ranks of one channel, the ranks of all are their product. ASTRA-sim
sends a message of n bytes in latency + n / bandwidth, and a collective in equal steps, so it can
hold costs that are lines: what a step costs in any case, and bandwidth. Of GB it counts 2^30 bytes.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from solver.costs import Affine, ChannelCost, Network
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    NETWORK,
    REDUCE_SCATTER,
    Graph,
)

_GB = 2**30
#: Two figures this close, relative to the larger, are the same.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The channels of a graph as dimensions.

    Attributes
    ----------
    channels
        Names, the innermost dimension first; ``network`` is the outermost.
    workers
        Ranks of each.
    text
        ``network.yml``; None where ASTRA-sim cannot hold the costs.
    notes
        Why it cannot, or what it takes otherwise.
    """

    channels: tuple[str, ...]
    workers: tuple[int, ...]
    text: str | None
    notes: tuple[str, ...]

    @property
    def ranks(self) -> int:
        """All ranks."""
        return math.prod(self.workers)


def dimensions_of(graph: Graph, network: Network, workers: Mapping[str, int]) -> Dimensions:
    """Write the network of a graph's collectives.

    Parameters
    ----------
    graph
        What is sent.
    network
        The cost of each lane.
    workers
        Ranks by channel.
    """
    used = {graph.ops[i].channel for i in graph.collectives}
    channels = tuple(sorted(used & workers.keys(), key=lambda name: (name == NETWORK, name)))
    ranks = tuple(workers[name] for name in channels)
    notes = [f"The ranks of channel {name!r} are not known." for name in sorted(used - {*channels})]
    links = []
    for name, count in zip(channels, ranks, strict=True):
        found, said = _link(graph, network, name, count)
        links.append(found)
        notes += said
    whole = [link for link in links if link is not None]
    if len(whole) < len(used):
        notes.append("So there is no network.yml: write one.")
        return Dimensions(channels, ranks, None, tuple(notes))
    if len(whole) > 1:
        shape = " x ".join(map(str, ranks))
        notes.append(
            f"Each channel is a dimension of its own: {shape} ranks, the first of "
            f"{channels[0]!r}. Channels over the same ranks cannot be told."
        )
    rows: dict[str, list[Any]] = {
        "topology": ["Ring"] * len(whole),
        "npus_count": list(ranks),
        "bandwidth": [1e6 / per_byte / _GB for _, per_byte in whole],
        "latency": [1e3 * latency for latency, _ in whole],
    }
    units = {"bandwidth": "  # GB/s, of 2^30 bytes", "latency": "  # ns"}
    text = "".join(
        f"{name}: [ {', '.join(map(str, row))} ]{units.get(name, '')}\n"
        for name, row in rows.items()
    )
    return Dimensions(channels, ranks, text, tuple(notes))


def _link(
    graph: Graph, network: Network, channel: str, workers: int
) -> tuple[tuple[float, float] | None, list[str]]:
    """Find latency [us] and time per byte [us] of a message; the kind with most bytes decides."""
    sizes: dict[str, int] = {}
    for i in graph.collectives:
        op = graph.ops[i]
        if op.channel == channel and op.kind != BROADCAST:
            sizes[op.kind] = sizes.get(op.kind, 0) + (op.bytes or 0)
    if workers == 1:
        return None, [f"Channel {channel!r} has one rank; ASTRA-sim needs two."]
    if not sizes:
        return None, [f"Channel {channel!r} has broadcasts alone, which ASTRA-sim does not send."]
    links = {}
    for kind in sorted(sizes, key=lambda kind: (-sizes[kind], kind)):
        cost = network(ChannelCost(channel, kind))
        if not isinstance(cost, Affine) or cost.per_byte <= 0:
            return None, [f"The cost of {kind} over {channel!r} is no start-up and bandwidth."]
        steps, passes = _effort(kind, workers)
        links[kind] = (cost.startup / steps, cost.per_byte / passes)
    (first, decided), *others = links.items()
    return decided, list(_differences(channel, first, decided, others))


def _effort(kind: str, workers: int) -> tuple[int, float]:
    """Messages of a ring of ASTRA-sim one after another, and the bytes they carry of each byte."""
    steps = {
        ALL_REDUCE: 2 * (workers - 1),
        ALL_GATHER: workers - 1,
        REDUCE_SCATTER: workers - 1,
        ALL_TO_ALL: workers * (workers - 1) // 2,
    }[kind]
    return steps, steps / workers


def _differences(
    channel: str,
    first: str,
    decided: tuple[float, float],
    others: list[tuple[str, tuple[float, float]]],
) -> Iterator[str]:
    """Say which kinds take another time than the plan's."""
    for kind, link in others:
        words = ("start-up", "time per byte")
        for word, mine, other in zip(words, decided, link, strict=True):
            if not math.isclose(mine, other, rel_tol=_SAME, abs_tol=1e-12):
                times = f"{mine / other:.3g} times" if other else "more than"
                yield (
                    f"Over {channel!r} latency and bandwidth are those of {first}: ASTRA-sim takes "
                    f"{times} the {word} of {kind}."
                )
