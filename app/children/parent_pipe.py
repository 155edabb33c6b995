"""The pipe to its parent, as a child has it."""

import logging
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from app.children.groups import end_own_group

_LOG = logging.getLogger("interlace.children")


class ParentPipe:
    """Orders come through it, and what comes of them goes back.

    A thread hears, whatever the child is at: that the parent has gone is the end of this process
    and of all that it started. So is an order that cannot be read: who has sent it waits for what
    becomes of it.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._sending = pipe, Lock()
        self._orders: SimpleQueue[Any] = SimpleQueue()
        Thread(target=self._hear, daemon=True).start()

    def order(self) -> Any:
        """Wait for the next order."""
        return self._orders.get()

    def send(self, message: Any) -> None:
        """Tell the parent; any thread may."""
        with self._sending:
            self._pipe.send(message)

    def receive(self) -> Any:
        """Read what comes next; for the thread that hears."""
        return self._pipe.recv()

    def take(self, order: Any) -> None:
        """Take an order; for the thread that hears."""
        self._orders.put(order)

    def _hear(self) -> None:
        try:
            while True:
                self.take(self.receive())
        except (EOFError, OSError):
            pass
        except Exception:  # noqa: BLE001 - of pickle, of what that imports, of memory
            _LOG.exception("An order cannot be read")
        finally:
            end_own_group()
