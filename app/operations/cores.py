"""The cores of this machine; a module of its own, as whoever starts processes needs no settings."""

import os


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
