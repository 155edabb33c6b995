"""Horovod's timeline (``HOROVOD_TIMELINE``, 0.19 to 0.28) of one rank, with layers or without.

Bar by bar the events become launches (:mod:`.bars`), these steps and fused buffers
(:mod:`.steps`), their shares of the time (:mod:`.shares`), and one step the graph
(:mod:`.iteration`).
"""

from solver.traces.horovod.layers import is_layers
from solver.traces.horovod.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "is_layers", "looks_like", "read"]
