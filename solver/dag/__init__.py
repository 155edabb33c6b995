"""Plans of graphs whose channels are not problems of their own."""

from solver.dag.bound import bound_of
from solver.dag.decide import decide

__all__ = ["bound_of", "decide"]
