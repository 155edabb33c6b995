r"""DLC traces of training through parameter servers (SketchDLC): text, one file a node.

A header and a row a message, in any order, in the paper's spelling of the columns or in the
recorder's: ``id src dst length num_pp operation op_id dep_type d_time time_sec time_usec id_dep``.
Messages that set connections up have the first six. Ids may repeat; what a row is follows from its
operation and from ``op_id``, ``key-operation_num-node``.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: sections 3 and 4.
"""

from solver.traces.dlc.reader import FORMAT, looks_like, nodes_of, read
from solver.traces.dlc.text import text_of
from solver.traces.formats import TraceFormat, names

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "nodes_of", "read", "text_of"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="SketchDLC's traces: one file a node",
    versions="the paper's spelling of the columns, and the recorder's",
    reads=("messages, keys, iterations; phases, overheads and profiled steps of parameter servers"),
    assumes=(
        "an all-reduce for each push and pull, of the pushed message's bytes; both passes are "
        "one op up to the first push; no costs"
    ),
    refuses=(
        "rows of two nodes in a file, a node or an operation twice, headers that differ, the "
        "scheduler's file"
    ),
    looks_like=looks_like,
    read=read,
    counted="rows",
    signs=names("num_workers", "OP:=", "Push_Send", "time_usec"),
)
