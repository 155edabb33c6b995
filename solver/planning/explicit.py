"""A plan given by names, as an answer states it: checked, and turned into launches."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from solver.buckets import Launch
from solver.chain import Chain
from solver.codes import FaultCode
from solver.errors import Fault, InvalidPlan
from solver.graph import Graph, first_of
from solver.simulation.engine import Deadlock


class ExplicitBucket(NamedTuple):
    """A bucket by its id and its tensors' ids."""

    id: str
    tensors: tuple[str, ...]


class ExplicitPart(NamedTuple):
    """A launch: so many bytes of a bucket."""

    bucket: str
    bytes: int


def explicit_launches(
    graph: Graph, chain: Chain, buckets: Sequence[ExplicitBucket], parts: Sequence[ExplicitPart]
) -> tuple[Launch, ...]:
    """Name each launch's bucket by chain indices, in the order given.

    Raises
    ------
    InvalidPlan
        With every fault, at ``/buckets`` or ``/schedule/parts``: a bucket or tensor that is
        repeated, unknown or missing, tensors of several kinds, channels, keys or sizes of elements
        in one bucket, a part of no bytes or that ends within an element, parts that do not carry
        a bucket's bytes.
    """
    index = {graph.ops[p].id: i for i, p in enumerate(chain.positions.tolist())}
    named = [tensor for bucket in buckets for tensor in bucket.tensors]
    if named and index.keys().isdisjoint(named):
        detail = f"The graph has none of the plan's tensors, such as {named[0]!r}: another's plan?"
        raise InvalidPlan([Fault("/buckets", FaultCode.UNKNOWN_OP, detail)])
    faults = first_of(_bucket_faults(chain, index, buckets))
    faults += first_of(_part_faults(chain, index, buckets, parts))
    if faults:
        raise InvalidPlan(faults)
    members = {b.id: tuple(sorted(index[name] for name in b.tensors)) for b in buckets}
    return tuple(Launch(members[part.bucket], part.bytes) for part in parts)


def deadlock_fault(graph: Graph, chain: Chain, error: Deadlock) -> Fault:
    """Say that launches wait for one another."""
    first = graph.ops[int(chain.positions[error.unsent[0]])].id
    return Fault(
        "/schedule/parts",
        FaultCode.DEADLOCK,
        f"The launches wait for one another in this order: {first!r} and "
        f"{len(error.unsent) - 1} other tensors are never sent.",
    )


def _bucket_faults(
    chain: Chain, index: Mapping[str, int], buckets: Sequence[ExplicitBucket]
) -> Iterator[Fault]:
    names: set[str] = set()
    seen: set[str] = set()
    for b, bucket in enumerate(buckets):
        if bucket.id in names:
            yield Fault(
                f"/buckets/{b}/id", FaultCode.DUPLICATE_ID, f"Bucket id {bucket.id!r} is taken."
            )
        names.add(bucket.id)
        lanes = dict.fromkeys(
            chain.lanes[chain.lane[index[name]]] for name in bucket.tensors if name in index
        )
        for t, tensor in enumerate(bucket.tensors):
            pointer = f"/buckets/{b}/tensors/{t}"
            if tensor not in index:
                detail = f"Bucket {bucket.id!r}: the graph has no collective {tensor!r}."
                yield Fault(pointer, FaultCode.UNKNOWN_OP, detail)
                continue
            if tensor in seen:
                detail = f"Bucket {bucket.id!r}: {tensor!r} is in a bucket already."
                yield Fault(pointer, FaultCode.DUPLICATE_ID, detail)
            seen.add(tensor)
        if len(lanes) > 1:
            first, second, *_ = lanes
            detail = f"Bucket {bucket.id!r}: its tensors are of several sorts: {first}, {second}."
            yield Fault(f"/buckets/{b}/tensors", FaultCode.MIXED_BUCKET, detail)
        members = [index[tensor] for tensor in bucket.tensors if tensor in index]
        mask = sum(1 << i for i in set(members)) if chain.before else 0
        if any(chain.before[i] & mask for i in members if mask):
            detail = f"Bucket {bucket.id!r} waits for itself: one of its tensors is after another."
            yield Fault(f"/buckets/{b}/tensors", FaultCode.DEADLOCK, detail)
    if left := [name for name in index if name not in seen]:
        detail = f"{len(left)} collectives are in no bucket, {left[0]!r} among them."
        yield Fault("/buckets", FaultCode.MISSING_FIELD, detail)


def _part_faults(
    chain: Chain,
    index: Mapping[str, int],
    buckets: Sequence[ExplicitBucket],
    parts: Sequence[ExplicitPart],
) -> Iterator[Fault]:
    sizes = {
        b.id: sum(int(chain.bytes[index[t]]) for t in b.tensors if t in index) for b in buckets
    }
    elements = {
        b.id: math.lcm(*(chain.element_bytes(index[t]) for t in b.tensors if t in index))
        for b in buckets
    }
    carried = dict.fromkeys(sizes, 0)
    for p, part in enumerate(parts):
        pointer = f"/schedule/parts/{p}"
        if part.bucket not in sizes:
            detail = f"Part {p}: the plan has no bucket {part.bucket!r}."
            yield Fault(f"{pointer}/bucket", FaultCode.UNKNOWN_OP, detail)
            continue
        if part.bytes < 1:
            detail = f"Part {p}: bytes must be 1 or more, got {part.bytes}."
            yield Fault(f"{pointer}/bytes", FaultCode.OUT_OF_RANGE, detail)
        elif part.bytes % elements[part.bucket]:
            detail = (
                f"Part {p}: bytes must be a multiple of the {elements[part.bucket]} bytes of an "
                f"element of bucket {part.bucket!r}, got {part.bytes}."
            )
            yield Fault(f"{pointer}/bytes", FaultCode.OUT_OF_RANGE, detail)
        carried[part.bucket] += part.bytes
    for b, bucket in enumerate(buckets):
        if carried[bucket.id] != sizes[bucket.id]:
            yield Fault(
                f"/buckets/{b}",
                FaultCode.OUT_OF_RANGE,
                f"Bucket {bucket.id!r}: its parts carry {carried[bucket.id]} of "
                f"{sizes[bucket.id]} bytes.",
            )
