"""TensorFlow's traces: ``timeline.json`` of a session's run, and the profiler's of a job.

Either is read as ops with their inputs and what tasks sent to each other (:mod:`.session`,
:mod:`.profile`). These are the rows of a step (:mod:`.rows`), and where there are collectives a
graph (:mod:`.iteration`).
"""

from solver.traces.tensorflow.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "looks_like", "read"]
