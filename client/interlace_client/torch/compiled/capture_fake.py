"""Process groups of many ranks in one process, which send nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore


@contextmanager
def fake_ranks(world_size: int, rank: int = 0) -> Iterator[None]:
    """Be one rank of a job of so many, without the others: for captures, not for training.

    Raises
    ------
    RuntimeError
        If this process is in a job already.
    """
    if dist.is_initialized():
        raise RuntimeError("fake_ranks: this process has process groups already.")
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world_size)
    try:
        yield
    finally:
        dist.destroy_process_group()
