"""Do neighbours suffice on a layer chain? No: here is a best bucket that has none (MODEL.md 6).

The oracle tries all buckets: each other one before the core, after it, or both, the shares of those
in two parts by linear programming. It shares no code with the solver.
"""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from solver.chain import Chain
from solver.costs import Affine
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.nested import from_both_ends
from tests.solver.test_joint import joint_value

RELEASE = [0.311, 0.615, 1.207, 1.556, 4.871]
TAIL = [0.164, 1.072, 1.901, 2.6, 4.231]
SIZE = [1, 3, 1, 1, 3]
STARTUP, PER_UNIT = 2.0, 0.5

#: A unit of size is a million bytes, so that parts are as fine as they need to be.
UNIT = 1_000_000
CHAIN = Chain(
    np.arange(5),
    np.array(RELEASE),
    np.array(TAIL),
    np.array(SIZE) * UNIT,
    max(r + q for r, q in zip(RELEASE, TAIL, strict=True)),
)
COST = Affine(STARTUP, PER_UNIT / UNIT)


def partitions(items):
    """All ways to put items in buckets."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for i, bucket in enumerate(smaller):
            yield [*smaller[:i], [first, *bucket], *smaller[i + 1 :]]


def are_neighbours(buckets):
    return all(max(bucket) - min(bucket) == len(bucket) - 1 for bucket in buckets)


def least_time(buckets):
    """Least time of buckets, over all sides and shares, by the order that section 6 proves."""
    *others, core = sorted(buckets, key=max)
    best = np.inf
    for sides in product(("before", "after", "both"), repeat=len(others)):
        before = [b for b, side in zip(others, sides, strict=True) if side != "after"]
        after = [b for b, side in zip(others, sides, strict=True) if side != "before"][::-1]
        best = min(best, _by_program([*before, core, *after]))
    return best


def _by_program(order):
    """Minimise the end over starts, sizes of parts and the value."""
    n = len(order)
    count = 2 * n + 1  # start of each, bytes of each, value
    rows, limits = [], []

    def at_least(terms, limit):  # sum of terms >= limit
        row = np.zeros(count)
        for place, factor in terms:
            row[place] -= factor
        rows.append(row)
        limits.append(-limit)

    for k, bucket in enumerate(order):
        at_least([(k, 1)], RELEASE[max(bucket)])
        if k:
            at_least([(k, 1), (k - 1, -1), (n + k - 1, -PER_UNIT)], STARTUP)
        if bucket not in order[k + 1 :]:  # the last part
            at_least([(2 * n, 1), (k, -1), (n + k, -PER_UNIT)], STARTUP + TAIL[max(bucket)])
    equal, totals = [], []
    for bucket in {tuple(b) for b in order}:
        equal.append([0.0] * n + [float(tuple(b) == bucket) for b in order] + [0.0])
        totals.append(sum(SIZE[i] for i in bucket))
    value = np.zeros(count)
    value[-1] = 1
    found = linprog(value, rows, limits, equal, totals, method="highs")
    return found.fun if found.success else np.inf


def test_neighbours_do_not_suffice():
    times = {str(p): least_time(p) for p in partitions(list(range(5)))}
    neighbours = {str(p) for p in partitions(list(range(5))) if are_neighbours(p)}
    assert (len(times), len(neighbours)) == (52, 16)
    assert min(times.values()) == pytest.approx(13.128)
    assert min(times[p] for p in neighbours) == pytest.approx(13.272)


def test_the_recursion_has_neighbours_only_and_the_search_goes_beyond():
    recursion = ChainJudge(CHAIN, COST).value(from_both_ends(CHAIN, COST))
    found, _ = joint_value(CHAIN, COST)
    assert found == pytest.approx(13.128)
    assert recursion == pytest.approx(13.272)
