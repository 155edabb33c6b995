"""A simulated iteration as tracks of spans: what a picture of it is drawn from."""

from dataclasses import dataclass

from solver.chain import chain_of
from solver.graph import COMPUTE, Graph
from solver.simulation.engine import Timeline

#: More spans than a small picture shows apart: those that touch are drawn as one.
_APART = 1e-3


@dataclass(frozen=True, slots=True)
class Track:
    """What ran on one stream or channel.

    Attributes
    ----------
    name
        Of the picture's row.
    spans
        Begin and end of each [us], ascending; spans that touch are one.
    computes
        Whether it is compute; else it is communication.
    """

    name: str
    spans: tuple[tuple[float, float], ...]
    computes: bool = False


def tracks_of(graph: Graph, timeline: Timeline, of: str = "") -> tuple[Track, ...]:
    """Return a track for all compute, and one for each channel; O(n log n) for n ops.

    ``of`` is what ran, which stands in each name.
    """
    least = _APART * timeline.iteration_time
    sent = f"{of}, " if of else ""
    compute = [
        (timeline.starts[i], timeline.ends[i])
        for i, op in enumerate(graph.ops)
        if op.kind == COMPUTE
    ]
    found = [Track(f"{sent}compute", _joined(compute, least), computes=True)]
    positions = chain_of(graph).positions
    by_channel: dict[str, list[tuple[float, float]]] = {}
    for launch in timeline.launches:
        channel = graph.ops[int(positions[launch.bucket[0]])].channel
        by_channel.setdefault(channel, []).append((launch.start, launch.end))
    found += [
        Track(f"{sent}{name}", _joined(spans, least, apart=True))
        for name, spans in sorted(by_channel.items())
    ]
    return tuple(found)


def _joined(
    spans: list[tuple[float, float]], least: float, *, apart: bool = False
) -> tuple[tuple[float, float], ...]:
    """Join spans with gaps of at most ``least`` [us]; launches stay ``apart`` unless short."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if found and start - found[-1][1] <= least and not (apart and end - start > 4 * least):
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)
