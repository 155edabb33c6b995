"""The end of a process that trained over gloo: with the threads of its groups ended."""

import gc
from pathlib import Path

import torch.distributed as dist

# for its time: imported later it would keep the default group for good
import torch.distributed.nn  # noqa: F401


def leave() -> None:
    """Leave all groups; the caller has no model, no launch and no group any more.

    A thread of gloo that frees a launch of a backward pass takes Python's lock, for the context
    that the launch was made in. Where the interpreter is ending that aborts the process (PyTorch
    2.13 before Python 3.14). A group that nobody has any more ends its threads.
    """
    gc.collect()  # models are in cycles
    dist.destroy_process_group()
    gc.collect()


def threads_of_gloo() -> int:
    """Count the threads of this process's gloo groups that may have launches."""
    tasks = Path("/proc/self/task").iterdir()
    return sum("gloo_runloop" in (task / "comm").read_text() for task in tasks)
