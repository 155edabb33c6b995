"""TensorFlow's traces: ``timeline.json`` of a session's run, and the profiler's of a job.

Either is read as ops with their inputs and what tasks sent to each other (:mod:`.session`,
:mod:`.profile`). These are the rows of a step (:mod:`.rows`), and where there are collectives a
graph (:mod:`.iteration`).
"""

from solver.traces.formats import TraceFormat, names
from solver.traces.tensorflow.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "read"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source=(
        "TensorFlow: tf.compat.v1's `timeline.json`, and the profiler's `*.xplane.pb` or "
        "`*.trace.json.gz`"
    ),
    versions="timelines of 1.x and tf.compat.v1; profiles of 2.x",
    reads=(
        "ops with their inputs, kernels of GPUs; tensors between tasks; bytes with "
        "`show_memory=True`; collectives, or profiled steps of parameter servers"
    ),
    assumes=(
        "tensors between tasks from names of inputs or `_Send`; bytes of a variable's pull "
        "and gradient from `parameters`; order of ops as they ran; a group of events is a "
        "step"
    ),
    refuses="one task alone; no bytes of any tensor that is sent",
    looks_like=looks_like,
    read=read,
    counted="values",
    signs=names('"traceEvents"', '"/host:CPU"'),
)
