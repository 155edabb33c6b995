"""Traces of XLA's ops: the profiler's ``*.trace.json.gz`` of JAX, or of TensorFlow compiled by it.

Device by device the events become runs of a program (:mod:`.runs`), and one of them the graph
(:mod:`.iteration`). What the collectives carry is in the events of a TPU, else in the program's
HLO text (:mod:`.hlo`).
"""

from solver.traces.xla.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "looks_like", "read"]
