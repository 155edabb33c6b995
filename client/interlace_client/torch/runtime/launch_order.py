"""In which order a process makes its launches and the collectives of other groups.

NCCL runs the kernels of several communicators in the order in which a process launches them, and
where ranks launch them in different orders they may wait for each other for ever. The runtime's own
order is one: launches by the plan, then flags of unused parameters, then buffers. What lies between
them is the user's: SyncBatchNorm, metrics, tensor parallelism.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch.distributed as dist


class LaunchOrder:
    """Counts the collectives of other groups before each launch of a step.

    Parameters
    ----------
    count
        Returns how many this process has made so far.

    Attributes
    ----------
    before
        Of each launch of the step, in order, how many since the step began.
    """

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self.begin()

    def begin(self) -> None:
        """Begin another step."""
        self._origin = self._count()
        self.before: list[int] = []

    def launched(self) -> None:
        """Hear that a launch is next."""
        self.before.append(self._count() - self._origin)


def order_beside(own: Any) -> LaunchOrder:
    """Watch all process groups of this process but one's own."""

    def count() -> int:
        groups = list(dist.distributed_c10d._world.pg_map)
        return sum(_made_by(each) for each in groups if each is not own)

    return LaunchOrder(count)


def _made_by(group: Any) -> int:
    """Return how many collectives a group has made; 0 where its backend does not count them."""
    try:
        return int(group._get_sequence_number_for_group())
    except RuntimeError:
        return 0


def check_order(order: LaunchOrder, process_group: Any) -> None:
    """Check that all ranks have made their collectives in the same order.

    Raises
    ------
    RuntimeError
        On all ranks, with the first launch that differs and the ranks.
    """
    ranks: list[Any] = [None] * dist.get_world_size(process_group)
    dist.all_gather_object(ranks, order.before, group=process_group)
    fault = difference(ranks)
    if fault:
        raise RuntimeError(fault)
    order.begin()


def difference(ranks: Sequence[Sequence[int]]) -> str | None:
    """Say where ranks differ from the first; None where they do not."""
    for launch, counts in enumerate(zip(*ranks)):
        others = [rank for rank, count in enumerate(counts) if count != counts[0]]
        if others:
            return (
                f"Launch {launch} of the step comes after {counts[0]} collectives of other process "
                f"groups on rank 0, and after {counts[others[0]]} on rank {others[0]}. Over NCCL "
                "such ranks may wait for each other for ever: make these collectives (metrics, "
                "SyncBatchNorm, tensor parallelism) at the same places on all ranks, outside of "
                "the backward pass where that depends on data."
            )
    return None
