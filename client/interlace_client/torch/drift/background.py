"""Work that the training does not wait for."""

from __future__ import annotations

from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Thread
from typing import Any, Callable, TypeVar

T = TypeVar("T")


class Background:
    """Does one task after another in a thread, which ends with the process.

    Attributes
    ----------
    is_idle
        Whether nothing is under way.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._last: Future[Any] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether all tasks are done."""
        return self._last is None or self._last.done()

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Have a task done; return where its result or its error will be."""
        if self._last is None:
            Thread(target=self._work, name=self._name, daemon=True).start()
        future: Future[T] = Future()
        self._last = future
        self._tasks.put((future, task))
        return future

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until all tasks are done; return whether they are."""
        if self._last is not None:
            wait([self._last], timeout_s)
        return self.is_idle

    def _work(self) -> None:
        while True:
            future, task = self._tasks.get()
            try:
                future.set_result(task())
            except Exception as error:  # noqa: BLE001 - it is the asker's
                future.set_exception(error)
