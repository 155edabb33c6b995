"""What carries launches: a process group of our own that runs them one after another, in order."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from typing import Any, Protocol

import torch
import torch.distributed as dist
import torch.distributed.nn

# The last import is for its time: that module keeps for good what default group there is then, and
# with it the threads of that. A thread of gloo that frees a launch of a backward pass needs the
# interpreter, and aborts the process where that is ending ("terminate called without an active
# exception", PyTorch 2.13 before Python 3.14); a group that nobody keeps ends its threads first.


class Work(Protocol):
    """A launch under way."""

    def wait(self) -> Any:
        """Return when its result is there (GPU: when the current stream waits for it)."""

    def is_completed(self) -> bool:
        """Tell whether it is over."""


class Transport(Protocol):
    """Carries launches in the order in which they are started."""

    def start(self, tensor: torch.Tensor) -> Work:
        """Start to sum a tensor over all ranks, in place."""

    def broadcast(self, tensor: torch.Tensor) -> Work:
        """Start to copy the first rank's tensor to all ranks, in place."""


class PrivateGroup:
    """A process group of its own beside the user's, with the same ranks.

    The default group of gloo has several threads, which reorder launches that are under way
    together; this one has ``window`` threads, so that with 1 launches run strictly one after
    another in the order in which they are started. NCCL runs them in that order by itself.

    Parameters
    ----------
    process_group
        The user's group; None is the default one.
    window
        How many launches may be under way at once (gloo). One was the fastest of what was measured.
    timeout
        After which a launch that not all ranks take part in fails on all that do; None is that of
        the user's group.

    Attributes
    ----------
    group
        What carries the launches.

    Raises
    ------
    RuntimeError
        When torch.distributed is not initialised.
    ValueError
        When the window has no launch.
    """

    def __init__(
        self, process_group: Any = None, *, window: int = 1, timeout: timedelta | None = None
    ) -> None:
        if not dist.is_initialized():
            raise RuntimeError("Call torch.distributed.init_process_group first.")
        if window < 1:
            raise ValueError(f"At least one launch must go at a time, got window={window}.")
        self.group = own_group(process_group, window=window, timeout=timeout)

    def start(self, tensor: torch.Tensor) -> Work:
        """Start to sum a tensor over all ranks, in place."""
        return self.group.allreduce([tensor])

    def broadcast(self, tensor: torch.Tensor) -> Work:
        """Start to copy the first rank's tensor to all ranks, in place."""
        return self.group.broadcast(tensor, 0)


def own_group(
    process_group: Any = None, *, window: int = 1, timeout: timedelta | None = None
) -> Any:
    """Make a process group of the ranks of another, in which launches keep their order.

    All ranks of the group must call it, in the same order among its calls.

    Returns
    -------
    A gloo backend with ``window`` threads where the group is gloo's, whose options ``new_group``
    does not pass on; else a new group of the same backend.
    """
    group = process_group if process_group is not None else dist.group.WORLD
    ranks = dist.get_process_group_ranks(group)
    if dist.get_backend(group) != dist.Backend.GLOO:
        return group_beside(group, timeout=timeout)
    gloo = dist.ProcessGroupGloo
    options = gloo._Options()  # the only way to the number of threads
    options._threads = window
    options._timeout = timeout or _timeout_of(group)
    interfaces = [name for name in os.environ.get("GLOO_SOCKET_IFNAME", "").split(",") if name]
    options._devices = [gloo.create_device(interface=name) for name in interfaces] or [
        gloo.create_default_device()
    ]
    rank = dist.get_rank(group)
    name = f"interlace/{hashlib.sha256(repr(ranks).encode()).hexdigest()[:16]}"
    store = dist.distributed_c10d._get_default_store()
    number = store.add(f"{name}/made/{rank}", 1)  # of the same ranks; each makes as many
    return gloo(dist.PrefixStore(f"{name}/{number}", store), rank, len(ranks), options)


def group_beside(
    process_group: Any = None, *, backend: str | None = None, timeout: timedelta | None = None
) -> Any:
    """Make another group of the ranks of a group; all of them call it, and no others.

    Its backend is the group's unless another is named. :func:`release` gives it back.
    """
    group = process_group if process_group is not None else dist.group.WORLD
    ranks = dist.get_process_group_ranks(group)
    return dist.new_group(
        ranks,
        timeout=timeout,
        backend=backend or dist.get_backend(group),
        use_local_synchronization=not _has_all(ranks),
    )


def release(group: Any) -> None:
    """Destroy a group of :func:`group_beside`, unless the next one would take its name.

    PyTorch names a group that only its ranks know by them and by how many groups there are: after
    one is destroyed the next would find in the store what that one left, and wait forever.
    """
    if _has_all(dist.get_process_group_ranks(group)):
        dist.destroy_process_group(group)


def _has_all(ranks: list[int]) -> bool:
    return len(ranks) == dist.get_world_size()


def _timeout_of(group: Any) -> timedelta:
    """Return a group's timeout, or what groups have by default."""
    try:
        return group._get_backend(torch.device("cpu")).options._timeout
    except (AttributeError, RuntimeError):
        return dist.constants.default_pg_timeout
