"""Buckets and launches of a timeline, by name."""

from collections.abc import Mapping
from typing import NamedTuple

from solver.chain import Chain
from solver.graph import Graph
from solver.planning.result import Bucket, Part
from solver.simulation.engine import Timeline

#: Name of each bucket, in the order of names.
Names = Mapping[tuple[int, ...], str]


def buckets_of(graph: Graph, chain: Chain, timeline: Timeline) -> tuple[Names, tuple[Bucket, ...]]:
    """Name the buckets b0, b1, ... in the order in which they were ready, then by members."""
    release = [
        max((timeline.ends[j] for j in graph.preds[i]), default=0.0)
        for i in chain.positions.tolist()
    ]
    groups = {sent.bucket for sent in timeline.launches}
    ordered = sorted(groups, key=lambda group: (max(release[i] for i in group), group))
    names = {members: f"b{k}" for k, members in enumerate(ordered)}
    tensors = [graph.ops[i].id for i in chain.positions.tolist()]
    sizes, tails = chain.bytes.tolist(), chain.tail.tolist()
    return names, tuple(
        Bucket(
            id=name,
            tensors=tuple(tensors[i] for i in members),
            bytes=sum(sizes[i] for i in members),
            release_us=max(release[i] for i in members),
            tail_us=max(tails[i] for i in members),
            kind=chain.lanes[chain.lane[members[0]]].kind,
            channel=chain.lanes[chain.lane[members[0]]].channel,
        )
        for members, name in names.items()
    )


class Figures(NamedTuple):
    """How long an iteration takes, and its compute alone; what follows from both.

    Exposed is the difference. Overlap is 1 - exposed / time of all launches, clipped to 0..1
    (MODEL.md section 2.2); None when nothing is sent. The scaling factor is None when the iteration
    takes no time.
    """

    iteration_time_us: float
    compute_time_us: float
    exposed_us: float
    overlap: float | None
    scaling_factor: float | None


def figures_of(chain: Chain, timeline: Timeline) -> Figures:
    """Compare an iteration with its compute alone."""
    total, compute = timeline.iteration_time, chain.compute_time
    exposed = max(0.0, total - compute)
    sent = sum(part.end - part.start for part in timeline.launches)
    return Figures(
        total,
        compute,
        exposed,
        min(1.0, max(0.0, 1 - exposed / sent)) if sent > 0 else None,
        min(1.0, compute / total) if total > 0 else None,
    )


def parts_of(names: Names, timeline: Timeline) -> tuple[Part, ...]:
    """Name the bucket of each launch."""
    return tuple(
        Part(names[part.bucket], part.start, part.end, part.offset, part.bytes)
        for part in timeline.launches
    )
