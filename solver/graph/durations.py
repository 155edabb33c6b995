"""Whether the durations of a graph can be the microseconds that they are taken for."""

from statistics import median

from solver.graph.graph import Graph
from solver.graph.op import COMPUTE

#: Bytes for a microsecond of compute that no real iteration was seen to reach whose ops are short.
#: Those of the published models and of the traces that were read have 100 to 90,000.
_BYTES_FOR_US = 95_000
#: Half of the ops of such a graph take less [us]; the graphs of large models, which send as much,
#: have ops of milliseconds.
_SHORT_US = 50.0


def in_doubt(graph: Graph) -> bool:
    """Tell whether the durations look like milliseconds or seconds.

    They do when the ops are short and the collectives large beside them: one number a thousand
    times too small makes an iteration that nothing but communication decides. A question, no proof.
    """
    times = [op.duration_us for op in graph.ops if op.kind == COMPUTE and op.duration_us]
    sent = sum(op.bytes or 0 for op in graph.ops if op.kind != COMPUTE)
    return bool(times) and sent > _BYTES_FOR_US * sum(times) and median(times) < _SHORT_US
