"""PyTorch execution traces: what each op was called with."""

from solver.traces.formats import TraceFormat, names
from solver.traces.pytorch_et.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "read"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source=("PyTorch's execution trace: one file, alone or with the profiler's of the same run"),
    versions="schemas 1.0.1 to 1.1.1-chakra.0.0.4",
    reads="collectives and sizes; with the profiler's file also times",
    assumes="as `kineto`",
    refuses="alone it gives a report and no graph: it has no times",
    looks_like=looks_like,
    read=read,
    counted="values",
    signs=names('"schema"', '"nodes"', '"ctrl_deps"'),
    leads=True,
)
