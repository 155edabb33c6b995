"""What an answer rests on that was not measured: ranges left, workers unknown, costs scaled."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from app.body import Answered
from app.cluster import ChannelBody, ClusterBody, CostModelBody
from app.faults import pointer
from solver.result import Bucket, Part


class Warned(Answered):
    """One thing that an answer rests on and that was not measured."""

    pointer: Annotated[
        str, Field(description="JSON pointer into the request.", examples=["/cluster/cost_model"])
    ]
    code: Literal["outside_measured_range", "extrapolated", "workers_unknown"]
    detail: str


def launched(buckets: Iterable[Bucket], parts: Iterable[Part]) -> dict[str, list[int]]:
    """Return the bytes of each launch of a plan, by channel."""
    channels = {bucket.id: bucket.channel for bucket in buckets}
    found: dict[str, list[int]] = {}
    for part in parts:
        found.setdefault(channels[part.bucket], []).append(part.bytes)
    return found


def warnings_of(cluster: ClusterBody, launches: Mapping[str, Sequence[int]]) -> list[Warned]:
    """List what the cost of these launches was not measured for.

    Parameters
    ----------
    cluster
        With stored cost models in the place of their ids.
    launches
        Bytes of each launch, by channel.
    """
    found: list[Warned] = []
    for name, (place, channel) in cluster.networks().items():
        sizes, model = launches.get(name, ()), channel.cost_model
        workers = channel.workers or cluster.workers
        if not sizes or workers == 1:
            continue
        if model is not None:
            under = pointer(("cluster", *place, "cost_model"))
            found += _scaled(under, channel, model, workers)
            found += _outside(under, model.range, sizes)
        elif channel.algorithm == "table":
            points = [size for size, _ in channel.table]
            measured = (min(points), max(points)) if points else None
            found += _outside(pointer(("cluster", *place, "table")), measured, sizes)
    return found


def _scaled(
    under: str, channel: ChannelBody, model: CostModelBody, workers: int
) -> Iterator[Warned]:
    if not model.is_measured:
        return
    if model.workers is None:
        detail = (
            "The cost model does not say how many workers it was measured with; it is taken to be "
            f"for {workers:,}."
        )
        yield Warned(pointer=under, code="workers_unknown", detail=detail)
    changes = [
        f"{unit} of {was:g} scaled to {is_:g}"
        for unit, was, is_ in (
            ("workers", model.workers, workers),
            ("Gbit/s", model.bandwidth_gbps, channel.bandwidth_gbps),
        )
        if was is not None and is_ is not None and was != is_
    ]
    if changes:
        detail = f"The cost was not measured here: {' and '.join(changes)}, as a ring would."
        yield Warned(pointer=under, code="extrapolated", detail=detail)


def _outside(
    under: str, measured: tuple[int, int] | None, sizes: Sequence[int]
) -> Iterator[Warned]:
    if measured is None:
        return
    least, most = measured
    small, large = (sum(s < least for s in sizes), sum(s > most for s in sizes))
    if small or large:
        detail = (
            f"{small + large:,} of {len(sizes):,} launches ({min(sizes):,} to {max(sizes):,} "
            f"bytes) are outside of what was measured, {least:,} to {most:,} bytes."
        )
        yield Warned(pointer=under, code="outside_measured_range", detail=detail)
