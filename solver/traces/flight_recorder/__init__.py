"""PyTorch's flight recorder (``TORCH_FR_BUFFER_SIZE``, JSON or a pickle): one file a rank.

A dump has the last collectives of one rank (:mod:`.entries`), of which a pattern that comes again
makes steps (:mod:`.repeats`). Several ranks tell who comes late; there are no times of compute, so
there is no graph. ``interlace calibrate`` fits costs to a dump.
"""

from solver.traces.flight_recorder.reader import FORMAT, looks_like, read
from solver.traces.formats import Sign, TraceFormat

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "read"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="dumps of PyTorch's flight recorder as JSON or as a pickle, one a rank",
    versions="2.0 to 2.10 of its schema",
    reads="collectives, transfers, process groups and times of each rank: who comes late",
    assumes=(
        "a rank comes when its launch was discovered to have started, else when it was made; a "
        "step is the pattern of launches that comes again"
    ),
    refuses="one rank twice, times that are none; it has no times of compute, so there is no graph",
    looks_like=looks_like,
    read=read,
    counted="values",
    signs=(Sign("entries with a profiling_name", looks_like),),
)
