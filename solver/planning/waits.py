"""How long each bucket of a plan lies ready and is not being sent."""

from collections.abc import Iterable
from typing import Protocol


class ReadyBucket(Protocol):
    """A bucket, as a plan or its answer has it."""

    @property
    def id(self) -> str:
        """Its label."""

    @property
    def release_us(self) -> float:
        """When its last tensor is ready [us]."""


class SentPart(Protocol):
    """What one launch carries of a bucket, likewise."""

    @property
    def bucket(self) -> str:
        """Whose part it is."""

    @property
    def start_us(self) -> float:
        """When it starts [us]."""

    @property
    def end_us(self) -> float:
        """When it ends [us]."""


def bucket_waits(
    buckets: Iterable[ReadyBucket], parts: Iterable[SentPart]
) -> dict[str, float | None]:
    r"""Return the wait of each bucket [us], in their order; None of one that is not sent.

    A bucket that is ready at :math:`r` and whose parts run from :math:`s_i` to :math:`e_i` waits
    :math:`\max_i e_i - r - \sum_i (e_i - s_i)`: before its first part and between its parts. Parts
    of one bucket run one after another.

    Notes
    -----
    O(buckets + parts).
    """
    ends: dict[str, float] = {}
    busy: dict[str, float] = {}
    for part in parts:
        ends[part.bucket] = max(ends.get(part.bucket, part.end_us), part.end_us)
        busy[part.bucket] = busy.get(part.bucket, 0.0) + part.end_us - part.start_us
    return {
        each.id: max(0.0, ends[each.id] - each.release_us - busy[each.id])
        if each.id in ends
        else None
        for each in buckets
    }
