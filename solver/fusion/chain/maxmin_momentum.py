"""PACE's stochastic search over the number of groups R, for chains where trying all takes long."""

import math
from itertools import islice

import numpy as np

from solver.buckets import Launches, contiguous
from solver.chain import Chain
from solver.costs import Cost
from solver.errors import InvalidOptions
from solver.fusion.chain.maxmin import max_min, max_min_cuts
from solver.fusion.search import STEPS, Allowance, Order, SearchOptions

#: Counts that are tried, for each doubling of the tensors; walks, and how much of a step is kept.
_TRIED, _WALK, _MOMENTUM = 6, 6, 0.7
#: Steps of an allowance that a cut costs for each tensor, and for each bucket that is ordered.
_CUT, _ORDERED = 25, 300


def max_min_momentum(
    chain: Chain, cost: Cost, order: Order, search: SearchOptions | None = None
) -> Launches:
    r"""Fuse as :func:`solver.fusion.chain.maxmin.max_min`, but for some R alone.

    Walks over log R begin at random and follow the sign of the slope between R and a random
    neighbour, with momentum: :math:`v \leftarrow 0.7 v - u\,\mathrm{sign}(slope)`, u uniform in
    0.2 to 0.6. Of all R that were tried the fastest is returned, the smallest wins a tie. Never
    better than trying all, and how much worse is not bounded. Chains of no more tensors than are
    tried have all tried.

    Raises
    ------
    InvalidOptions
        When ``order`` can schedule none of the cuts that were tried: what it says of the first.

    Notes
    -----
    6 log2 n counts for n tensors, ``effort`` times as many; the same seed gives the same answer.
    The cuts up to the largest R that is tried take 4 n^2 bytes.

    References
    ----------
    .. [1] PACE, Section V-A: enumeration where N is small, Momentum-SGD where it is large.
    """
    search = search or SearchOptions(allowance=Allowance(STEPS))
    n = len(chain)
    most = search.effort * _TRIED * math.ceil(math.log2(n + 1))
    if n <= most:
        return max_min(chain, cost, order, search)
    tried = _TriedCuts(chain, order, search)
    random = np.random.Generator(np.random.PCG64(search.seed))
    while len(tried.values) < most and not search.allowance.is_spent():
        at, velocity = random.uniform(0, math.log(n)), 0.0
        for _ in range(_WALK):
            here = _whole(at, n)
            beside = _whole(at + random.choice((-1, 1)) * max(math.log1p(1 / here), 0.1), n)
            rises = (tried(beside) > tried(here)) - (tried(beside) < tried(here))
            sign = rises * (1 if beside > here else -1)
            velocity = _MOMENTUM * velocity - random.uniform(0.2, 0.6) * sign
            at = min(max(at + velocity, 0.0), math.log(n))
            if len(tried.values) >= most or search.allowance.is_spent():
                break
        tried(_whole(at, n))
    if tried.best is None:
        assert tried.refusal is not None, "some cut was tried"
        raise tried.refusal
    return tried.best


def _whole(at: float, n: int) -> int:
    return min(max(round(math.exp(at)), 1), n)


class _TriedCuts:
    """The values of the counts that were tried, and the best launches so far."""

    def __init__(self, chain: Chain, order: Order, search: SearchOptions) -> None:
        self.values: dict[int, float] = {}
        self.best: Launches | None = None
        self.refusal: InvalidOptions | None = None
        self._chain, self._order, self._search = chain, order, search
        self._rest = max_min_cuts(chain.bytes)
        self._cuts: list[tuple[int, ...]] = []
        self._key = (math.inf, 0)

    def __call__(self, count: int) -> float:
        """Return the iteration time with so many groups [us]; infinite where it is refused."""
        if count not in self.values:
            self.values[count] = self._value(count)
        return self.values[count]

    def _value(self, count: int) -> float:
        missing = count - len(self._cuts)
        self._cuts += islice(self._rest, max(missing, 0))
        self._search.allowance.spend(_CUT * len(self._chain) * max(missing, 1) + _ORDERED * count)
        try:
            launches, value = self._order(contiguous(self._chain, self._cuts[count - 1]))
        except InvalidOptions as error:
            self.refusal = self.refusal or error
            return math.inf
        value = max(value, self._chain.compute_time)
        if (value, count) < self._key:
            self.best, self._key = tuple(launches), (value, count)
            self._search.report(self.best, value)
        return value
