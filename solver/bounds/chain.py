"""A lower bound on the iteration time over all fusions, partitions and orders.

Valid for any cost (MODEL.md section 5). All bytes of a set J of tensors are launched after its
first release; refilling the launches in release order, and moving a split tensor's bytes into its
earlier launch, makes no later launch end later. So with an affine minorant a + c s of the cost the
channel is busy with J until M(J) at least, the value of a recursion over contiguous launches, and
at least the least tail of J follows.
"""

from dataclasses import dataclass

import numpy as np

from solver.bounds.kinds import CHAIN, COMPUTE, NESTED, PACKING
from solver.buckets import Launch, contiguous
from solver.chain import Chain
from solver.costs import Cost
from solver.fusion.chain.fifo import chain_cuts, chain_end
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.two_sided.search import bound_and_plan
from solver.units import FloatArray, IntArray, same, slack

#: Multiplies the labels of a nested bound that is to be sharp.
_SHARP = 2


@dataclass(frozen=True, slots=True)
class LowerBound:
    """The bound [us] and what attains it: chain indices, the wait before and the tail after."""

    value: float
    kind: str
    members: tuple[int, ...] = ()
    release: float | None = None
    tail: float | None = None


def lower_bound(chain: Chain, cost: Cost) -> LowerBound:
    """Return the best of the compute, chain, packing and nested bounds.

    O(n^2) time and O(n) memory per minorant of the cost, for n tensors; thresholds that cannot
    beat the best found are skipped.
    """
    best = LowerBound(chain.compute_time, COMPUTE)
    total = int(chain.bytes.sum())
    lines = cost.minorants(total)
    for a, c in lines:
        best = _chain_bound(chain, a, c, best)
    best = _packing_bound(chain, cost, best)
    cuts = chain_cuts(chain.release, chain.bytes, *lines[0])
    buckets = contiguous(chain, cuts)
    plan = tuple(map(Launch, buckets.members, buckets.bytes.tolist()))
    return tightened(chain, cost, best, ChainJudge(chain, cost).value(plan))


def tightened(
    chain: Chain, cost: Cost, best: LowerBound, to_beat: float, *, sharp: bool = False
) -> LowerBound:
    """Return the nested bound where it is above another one.

    That of a plan's time [us] to beat is sharper: what cannot beat it is not looked at. It is not
    above that time. ``sharp`` keeps more labels.
    """
    if same(best.value, to_beat):
        return best
    value = bound_and_plan(chain, cost, to_beat, _SHARP if sharp else 1, most_plans=0).bound
    if value > best.value + slack(value):
        return LowerBound(value, NESTED, tuple(range(len(chain))))
    return best


def _chain_bound(chain: Chain, a: float, c: float, best: LowerBound) -> LowerBound:
    """Q + M({q >= Q}) over the tails Q, the most promising thresholds first.

    One launch of everything after the last release bounds M from above.
    """
    thresholds, by_tail, at, hope = thresholds_of(chain.tail, chain.release)
    hope += a + c * np.cumsum(chain.bytes[by_tail])[at]
    while hope[i := int(hope.argmax())] > best.value:
        q = float(thresholds[i])
        mask = chain.tail >= q
        end = chain_end(chain.release[mask], chain.bytes[mask], a, c)
        if q + end > best.value:
            members = tuple(np.flatnonzero(mask).tolist())
            best = LowerBound(q + end, CHAIN, members, None, q)
        settle(hope, thresholds, i, end)
    return best


def thresholds_of(
    tail: FloatArray, release: FloatArray
) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    """List the tails Q, and what helps to hope for what a bound of {q >= Q} is at most.

    Returns
    -------
    FloatArray
        The thresholds Q [us], ascending.
    IntArray
        All places, largest tail first.
    IntArray
        Of each threshold the last place of its set in that order.
    FloatArray
        Of each threshold Q and the last release of its set, summed [us].
    """
    thresholds = np.unique(tail)
    by_tail = np.argsort(tail, kind="stable")[::-1]
    at = len(tail) - np.searchsorted(tail[by_tail[::-1]], thresholds) - 1
    last = np.maximum.accumulate(release[by_tail])[at]
    return thresholds, by_tail, at, thresholds + last


def settle(hope: FloatArray, thresholds: FloatArray, i: int, end: float) -> None:
    """Take what the set of a threshold takes [us]: a larger threshold's is part of it."""
    hope[i:] = np.minimum(hope[i:], thresholds[i:] + end)
    hope[i] = -np.inf


def _packing_bound(chain: Chain, cost: Cost, best: LowerBound) -> LowerBound:
    """Rho + h(bytes released at rho or later with tail Q or more) + Q over all rho and Q."""
    least = cost.least(int(chain.bytes.sum()))
    thresholds, by_tail, at, hope = thresholds_of(chain.tail, chain.release)
    hope += least(np.cumsum(chain.bytes[by_tail]))[at]
    while hope[k := int(hope.argmax())] > best.value:
        q = float(thresholds[k])
        mask = chain.tail >= q
        release, sizes = chain.release[mask], chain.bytes[mask]
        values = release + least(np.cumsum(sizes[::-1])[::-1])
        i = int(values.argmax())
        end = float(values[i])
        if end + q > best.value:
            members = np.flatnonzero(mask)[i:]
            best = LowerBound(end + q, PACKING, tuple(members.tolist()), float(release[i]), q)
        settle(hope, thresholds, k, end)
    return best
