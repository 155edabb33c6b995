"""A process group as slow as a network, for machines on which no hosts can be made.

One thread takes the all-reduces in turn: the workers meet in a tiny one, do the real one over
loopback, and wait until as much time has gone since they met as the network would take. What this
cannot show is what the network's own queues do.
"""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from queue import SimpleQueue
from typing import Any

import torch
import torch.distributed as dist

#: The name of the backend.
PACED = "paced"
#: What a launch takes beside its bytes, as over the hosts' links [us].
_STARTUP_US = 1000.0

#: From the bytes of a launch to its time [us].
Cost = Callable[[int], float]


class _Work(dist._Work):
    """An all-reduce that is done when its future is."""

    def __init__(self) -> None:
        super().__init__()
        self.future: torch.futures.Future = torch.futures.Future()

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        self.future.wait()
        return True

    def is_completed(self) -> bool:
        return bool(self.future.done())

    def get_future(self) -> torch.futures.Future:
        return self.future


class PacedGroup(dist.ProcessGroup):
    """All-reduces take the time of a network, one after another; all else is as fast as it is.

    Parameters
    ----------
    inner
        The group that does the work.
    cost
        What an all-reduce takes.
    """

    def __init__(self, inner: Any, cost: Cost) -> None:
        super().__init__(inner.rank(), inner.size())
        self._inner, self._cost = inner, cost
        self._queue: SimpleQueue = SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def getBackendName(self) -> str:  # noqa: N802 - PyTorch's name
        return PACED

    def _set_group_name(self, name: str) -> None:
        self._name = name

    @property
    def group_name(self) -> str:
        """What PyTorch calls it: it asks when the group is destroyed."""
        return self._name

    def shutdown(self) -> None:
        """End the thread, after what is queued."""
        self._queue.put(None)

    def allreduce(self, tensors: Any, options: Any = None) -> Any:
        work = _Work()
        self._queue.put((tensors, options or dist.AllreduceOptions(), work))
        return work

    def allgather(self, *arguments: Any) -> Any:
        return self._inner.allgather(*arguments)

    def broadcast(self, *arguments: Any) -> Any:
        return self._inner.broadcast(*arguments)

    def barrier(self, *arguments: Any) -> Any:
        return self._inner.barrier(*arguments)

    def _serve(self) -> None:
        meeting = torch.zeros(1)
        while queued := self._queue.get():
            tensors, options, work = queued
            try:
                self._inner.allreduce([meeting]).wait()
                end = time.perf_counter() + 1e-6 * self._cost(sum(t.nbytes for t in tensors))
                self._inner.allreduce(tensors, options).wait()
                time.sleep(max(0.0, end - time.perf_counter()))
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                work.future.set_exception(error)
            else:
                work.future.set_result(tensors)


def register(cost: Cost) -> None:
    """Let ``init_process_group("paced")`` and ``new_group(backend="paced")`` make such groups."""

    numbers = count()

    def make(store: Any, rank: int, size: int, timeout: timedelta) -> PacedGroup:
        # PyTorch gives a group the name, and so the keys, of one that was destroyed
        own = dist.PrefixStore(f"{PACED}/{next(numbers)}", store)
        return PacedGroup(dist.ProcessGroupGloo(own, rank, size, timeout), cost)

    dist.Backend.register_backend(PACED, make, devices=["cpu"])


class Ring:
    """Cost of a ring of workers.

    Attributes
    ----------
    mbit
        What each link carries [Mbit/s]; may change.
    """

    def __init__(self, workers: int, mbit: float) -> None:
        self._workers = workers
        self.mbit = mbit

    def __call__(self, size: int) -> float:
        """Time of an all-reduce of so many bytes [us]."""
        share = 2 * (self._workers - 1) / self._workers
        return _STARTUP_US + share * 8 * size / self.mbit
