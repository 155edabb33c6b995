"""The processor time of a child, which its parent reads: the child may be killed at any time."""

import os
from pathlib import Path


def processor_s(pid: int | None) -> float | None:
    """Return what a process and those it has waited for have used [s].

    None when it has gone, and where the system has no ``/proc``.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
