"""A cost that is simple between knots: what follows from these alone."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from solver.costs.functions import knots
from solver.units import FloatArray, IntArray


class Knotted(ABC):
    """A cost that is linear or concave between its knots (:mod:`solver.costs.functions.knots`)."""

    __slots__ = ()

    @abstractmethod
    def times(self, sizes: IntArray) -> FloatArray:
        """Time [us] of one launch of each size [bytes]."""

    @abstractmethod
    def _knots(self, most: int) -> Sequence[int]:
        """Sizes in 1..most between which time is simple, ends included."""

    def minorants(self, total: int) -> list[tuple[float, float]]:
        """Edges of the lower hull over 1..total bytes, and the ray of least time per byte."""
        return knots.minorants(self._knots(total), self.times)

    def least(self, total: int) -> Callable[[IntArray], FloatArray]:
        """T itself where it is non-decreasing and subadditive, else the minorants' maximum."""
        return knots.least(self._knots(total), self.times)

    def oddness(self, total: int) -> float:
        """Largest share of a launch's time that others in its place save, up to total bytes."""
        return knots.oddness(tuple(self._knots(total)), self.times)

    def thrifty(self, least: int, most: int) -> list[int]:
        """Sizes in least..most [bytes] of less time per byte than those about them, best first."""
        inside = (size for size in self._knots(most) if size > least)
        return knots.thrifty([least, *inside], self.times)
