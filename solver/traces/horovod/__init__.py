"""Horovod's timeline (``HOROVOD_TIMELINE``, 0.19 to 0.28) of one rank, with layers or without.

Bar by bar the events become launches (:mod:`.bars`), these steps and fused buffers
(:mod:`.steps`), their shares of the time (:mod:`.shares`), and one step the graph
(:mod:`.iteration`), with what Horovod's loop did in it (:mod:`.loop`).
"""

from solver.traces.formats import TraceFormat, names
from solver.traces.horovod.layers import is_layers
from solver.traces.horovod.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "TRACE_FORMAT", "is_layers", "looks_like", "read"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="Horovod's `HOROVOD_TIMELINE` of one rank, with a file of layers or without",
    versions="0.19 to 0.28",
    reads=(
        "tensors, when each rank was ready, buffers as they were fused, every phase; bytes "
        "from types and shapes; steps by tensors that come again"
    ),
    assumes=(
        "buffers from operations that began together; a tensor is released when its "
        "negotiation began; what a cycle decides, it then performs; between releases is "
        "compute, the rest waits for all tensors"
    ),
    refuses=(
        "no bytes of a tensor anywhere; two timelines; layers of which no tensor is a gradient"
    ),
    looks_like=looks_like,
    read=read,
    counted="values",
    signs=names('"ph"', "NEGOTIATE_", '"start_time_since_epoch_in_micros"'),
    is_beside=is_layers,
)
