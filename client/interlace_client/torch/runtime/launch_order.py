"""In which order a process makes its launches and the collectives of other groups.

NCCL runs the kernels of several communicators in the order in which a process launches them, and
where ranks launch them in different orders they may wait for each other for ever. The runtime's own
order is one: launches by the plan, then flags of unused parameters, then buffers. What lies between
them is the user's: SyncBatchNorm, metrics, tensor parallelism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch.distributed as dist

#: Numbers of collectives, by the names of the groups that a process is in; a name is the same on
#: all ranks of its group.
Counts = Mapping[str, int]


class LaunchOrder:
    """Counts the collectives of each other group before each launch of a step.

    Parameters
    ----------
    count
        Returns how many this process has made so far.
    steps
        Over how many steps ranks are to be compared.

    Attributes
    ----------
    before
        Of each launch of the step, in order, how many since the step began.
    steps
        How many of them are left.
    """

    def __init__(self, count: Callable[[], Counts], steps: int) -> None:
        self._count = count
        self.steps = steps
        self.begin()

    def begin(self) -> None:
        """Begin another step."""
        self._origin = self._count()
        self.before: list[Counts] = []

    def launched(self) -> None:
        """Hear that a launch is next."""
        now = self._count()
        self.before.append({name: n - self._origin.get(name, 0) for name, n in now.items()})


def order_beside(own: Any, steps: int) -> LaunchOrder:
    """Watch all process groups of this process but one's own."""

    def count() -> Counts:
        names = dict(dist.distributed_c10d._world.pg_names)
        return {name: _made_by(group) for group, name in names.items() if group is not own}

    return LaunchOrder(count, steps)


def _made_by(group: Any) -> int:
    """Return how many collectives a group has made; 0 where its backend does not count them."""
    try:
        return int(group._get_sequence_number_for_group())
    except RuntimeError:
        return 0


def check_order(order: LaunchOrder, process_group: Any) -> None:
    """Check that all ranks have made their collectives of a step in the same order.

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
    order.steps -= 1
    order.begin()


def difference(ranks: Sequence[Sequence[Counts]]) -> str | None:
    """Say where ranks of a group differ from the first of them; None where none do.

    Only ranks of the same group can wait for each other: others may make as many as they like.
    """
    for launch, counts in enumerate(zip(*ranks)):
        for name in dict.fromkeys(name for each in counts for name in each):
            first, *members = [rank for rank, each in enumerate(counts) if name in each]
            others = [rank for rank in members if counts[rank][name] != counts[first][name]]
            if not others:
                continue
            return (
                f"Launch {launch} of the step comes after {counts[first][name]} collectives of "
                f"another process group on rank {first}, and after {counts[others[0]][name]} on "
                f"rank {others[0]}. Over NCCL "
                "such ranks may wait for each other for ever: make these collectives (metrics, "
                "SyncBatchNorm, tensor parallelism) at the same places on all ranks, outside of "
                "the backward pass where that depends on data."
            )
    return None
