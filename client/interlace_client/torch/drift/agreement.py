"""What all ranks tell each other at a step, beside the launches: figures, and a plan to take."""

from __future__ import annotations

from typing import Any, Callable, Protocol

import torch
import torch.distributed as dist

from interlace_client.torch.transport import group_beside

Rows = list[list[float]]


class Agreement(Protocol):
    """All ranks of a run."""

    is_first: bool

    def start(self, rows: Rows) -> Callable[[], Rows]:
        """Begin to find the largest of all ranks' numbers, place by place; return what waits."""

    def share(self, told: Any) -> Any:
        """Return the first rank's object, on all ranks."""


class Alone:
    """One rank, which agrees with itself."""

    is_first = True

    def start(self, rows: Rows) -> Callable[[], Rows]:
        """Return what returns the rows."""
        return lambda: rows

    def share(self, told: Any) -> Any:
        """Return the object."""
        return told


class RankAgreement:
    """The ranks of a process group, on a group of their own: it waits for no launch.

    All ranks make it at the same time, and make the same calls in the same order.
    """

    def __init__(self, process_group: Any = None) -> None:
        self._group = group_beside(process_group, backend="gloo")
        self._first = dist.get_process_group_ranks(self._group)[0]
        self.is_first = dist.get_rank() == self._first

    def start(self, rows: Rows) -> Callable[[], Rows]:
        """Begin to find the largest of all ranks' numbers, place by place; return what waits."""
        shapes = [len(row) for row in rows]
        numbers = torch.tensor([number for row in rows for number in row], dtype=torch.float64)
        work = dist.all_reduce(numbers, dist.ReduceOp.MAX, group=self._group, async_op=True)

        def finish() -> Rows:
            work.wait()
            return [part.tolist() for part in numbers.split(shapes)]

        return finish

    def share(self, told: Any) -> Any:
        """Return the first rank's object, on all ranks."""
        box = [told]
        dist.broadcast_object_list(box, src=self._first, group=self._group)
        return box[0]
