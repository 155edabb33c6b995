r"""The PyTorch profiler's (Kineto's) Chrome trace: one file, or those of several ranks.

Rank by rank the events become a recording (:mod:`.recording`), its steps (:mod:`.steps`) and, for
one of them, the line of compute with the collectives beside it (:mod:`.iteration`).
"""

from solver.traces.kineto.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "looks_like", "read"]
