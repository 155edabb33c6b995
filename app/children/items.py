"""Children that do one of many small things after the other: ``python -m app.children.items FD``.

What all the things share goes to each child once. This module is light, as :mod:`program` is.
"""

import gc
import pickle
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from app.children.parent_pipe import ParentPipe
from app.children.program import ProgramChild
from app.operations.memory import GARBAGE


class WorkItem(NamedTuple):
    """One of many small things: ``work`` of ``item``, both pickled.

    A process keeps the newest ``work``, by its id. None is no other limit of memory than it has.
    """

    memory_bytes: int | None
    work_id: str
    work: bytes
    item: bytes


class ItemProcess(ProgramChild):
    """A child that does what it is sent, after it has told that it waits: None."""

    def __init__(self, module: str = "app.children.items", *, has_group: bool = False) -> None:
        super().__init__(module, has_group=has_group)
        self._work_id: str | None = None

    def send(self, order: bytes | WorkItem) -> None:
        """Let it do a pickled order, or an item, with the work that it has not yet."""
        if isinstance(order, bytes):
            self.pipe.send_bytes(order)
            return
        is_known, self._work_id = order.work_id == self._work_id, order.work_id
        self.pipe.send(order._replace(work=b"") if is_known else order)


class Worker:
    """Does items, in a child."""

    def __init__(self) -> None:
        self._works: dict[str, Any] = {}

    def outcome_of(self, order: WorkItem) -> bytes:
        """Return what an item comes to, or None and what it raises."""
        try:
            if order.work_id not in self._works:
                self._works.clear()  # a graph may be large
                self._works[order.work_id] = pickle.loads(order.work)  # noqa: S301 - the parent's
            value = self._works[order.work_id](pickle.loads(order.item))  # noqa: S301 - as above
            return pickle.dumps((value, None))
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            try:
                return pickle.dumps((None, error))
            except (pickle.PicklingError, TypeError, AttributeError):  # it may hold anything
                return pickle.dumps((None, RuntimeError(repr(error))))


def value_of(outcome: bytes) -> Any:
    """Return what an item came to, or raise what it did."""
    value, error = pickle.loads(outcome)  # noqa: S301 - a child's
    if error is not None:
        raise error
    return value


def main() -> None:
    """Do what comes until nobody sends more."""
    for sent in (signal.SIGINT, signal.SIGTERM):  # meant for the parent
        signal.signal(sent, signal.SIG_IGN)
    gc.set_threshold(*GARBAGE)
    line, worker = ParentPipe(Connection(int(sys.argv[1]))), Worker()
    with suppress(OSError):
        while True:
            line.send(None)
            line.send(worker.outcome_of(line.order()))


if __name__ == "__main__":
    main()
