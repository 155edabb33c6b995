"""The buckets and launches of a timeline as an answer states them, with labels."""

from collections.abc import Mapping

from solver.buckets import Members
from solver.chain import Chain
from solver.graph import Graph
from solver.planning.result import Bucket, Part
from solver.simulation.engine import Timeline

#: Label of each bucket, in the order of labels.
Labels = Mapping[Members, str]


def label_buckets(
    graph: Graph, chain: Chain, timeline: Timeline
) -> tuple[Labels, tuple[Bucket, ...]]:
    """Label the buckets b0, b1, ... in the order in which they were ready, then by members."""
    release = [
        max((timeline.ends[j] for j in graph.preds[i]), default=0.0)
        for i in chain.positions.tolist()
    ]
    groups = {launch.bucket for launch in timeline.launches}
    ordered = sorted(groups, key=lambda group: (max(release[i] for i in group), group))
    labels = {members: f"b{k}" for k, members in enumerate(ordered)}
    tensors = [graph.ops[i].id for i in chain.positions.tolist()]
    sizes, tails = chain.bytes.tolist(), chain.tail.tolist()
    return labels, tuple(
        Bucket(
            id=label,
            tensors=tuple(tensors[i] for i in members),
            bytes=sum(sizes[i] for i in members),
            release_us=max(release[i] for i in members),
            tail_us=max(tails[i] for i in members),
            kind=chain.lanes[chain.lane[members[0]]].kind,
            channel=chain.lanes[chain.lane[members[0]]].channel,
        )
        for members, label in labels.items()
    )


def parts_of(labels: Labels, timeline: Timeline) -> tuple[Part, ...]:
    """State each launch with the label of its bucket."""
    return tuple(
        Part(labels[launch.bucket], launch.start, launch.end, launch.offset, launch.bytes)
        for launch in timeline.launches
    )
