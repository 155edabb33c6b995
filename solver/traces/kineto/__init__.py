r"""The PyTorch profiler's (Kineto's) Chrome trace: one file, or those of several ranks.

Rank by rank the events become a recording (:mod:`.recording`), its steps (:mod:`.steps`) and, for
one of them, the line of compute with the collectives beside it (:mod:`.iteration`).
"""

from solver.traces.formats import TraceFormat, names
from solver.traces.kineto.reader import FORMAT, looks_like, read, read_parsed

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "read", "read_parsed"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="PyTorch's profiler (Kineto): one file, or one a rank",
    versions="sizes and groups on kernels from PyTorch 2.2 on; before, from the ops around them",
    reads=(
        "kernels, launches, process groups, steps; collectives of NCCL, RCCL, gloo and of "
        "others by name"
    ),
    assumes=(
        "channels; order from streams, threads and launches; idle time as ops of the host; "
        "what the next forward pass waits for; tensors of DDP's buckets"
    ),
    refuses=(
        "no collectives; no size of any (record with `record_shapes=True`); ranks whose "
        "all-reduces or broadcasts differ in bytes"
    ),
    looks_like=looks_like,
    read=read,
    counted="values",
    signs=names('"traceEvents"', '"ph"', '"cat"'),
)
