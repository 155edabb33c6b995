r"""A lower bound from what fits before a release, and after it: all else lies between.

Take tensors J and one of them, z. In any plan of time D the channel does the work of J in three
stretches: before r_z, between r_z and D - q_z, and in the last q_z. A launch that carries z lies
wholly in the middle one, with its start-up a. By r_z launches of J carry F bytes' work at most, in
the last q_z at most G, so that

    D >= r_z + a + max(0, W - F - G) + q_z,

W being the work of J. Launches fused, cut and ordered in any way carry no more by a time t than
launches in release order that each clear all that is released by their start, the last one being
cut short at t (MODEL.md section 5): with f(j) the least time by which the first j are carried,
F = max over j of W_j - max(0, f(j) - t). G is the mirror image.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from solver.bounds.chain import LowerBound
from solver.bounds.kinds import CORE
from solver.chain import Chain
from solver.costs import Cost
from solver.fusion.chain.loops.release_order import ends
from solver.units import FloatArray, IntArray, slack

#: Most sets J of a family that are looked at, in even steps.
_SETS = 256


class CoreProof(NamedTuple):
    """What proves a bound: the line a + c n, the tensors J, and z, both as chain indices."""

    value: float
    startup: float
    per_byte: float
    members: tuple[int, ...]
    core: int


def with_core(chain: Chain, cost: Cost, best: LowerBound) -> LowerBound:
    """Return the best core bound where it is above another one.

    ``release`` and ``tail`` of the bound are those of z.
    """
    proof = core_proof(chain, cost)
    if proof.value <= best.value + slack(best.value):
        return best
    z = proof.core
    release, tail = float(chain.release[z]), float(chain.tail[z])
    return LowerBound(proof.value, CORE, proof.members, release, tail)


def core_proof(chain: Chain, cost: Cost) -> CoreProof:
    """Return the best core bound of the sets {q >= Q} and {r >= rho}, for each minorant.

    O(sets n log n) for each minorant of the cost, for n tensors.
    """
    best = CoreProof(0.0, 0.0, 0.0, (), -1)
    for a, c in cost.minorants(int(chain.bytes.sum())):
        work = np.multiply(c, chain.bytes, dtype=np.float64)
        for members in _sets(chain):
            release, tail = chain.release[members], chain.tail[members]
            for z in sorted({int((release + tail).argmax()), len(members) - 1}):
                value = bound_of(release, tail, work[members], a, z)
                if value > best.value:
                    best = CoreProof(value, a, c, tuple(members.tolist()), int(members[z]))
    return best


def _sets(chain: Chain) -> Iterator[IntArray]:
    """Yield the sets, tensors in the order of release."""
    families = [chain.tail]
    if np.any(np.diff(chain.tail) < 0):
        families.append(chain.release)
    for times in families:
        thresholds = np.unique(times)
        for threshold in thresholds[:: -(-len(thresholds) // _SETS)]:
            yield np.flatnonzero(times >= threshold)


def bound_of(
    release: FloatArray, tail: FloatArray, work: FloatArray, startup: float, core: int
) -> float:
    """Bound the iteration time [us] by tensors in the order of release, and one of them."""
    by_tail = np.argsort(tail, kind="stable")
    before = _carried(release, work, startup, float(release[core]))
    after = _carried(tail[by_tail], work[by_tail], startup, float(tail[core]))
    between = max(0.0, float(work.sum()) - before - after)
    return float(release[core]) + startup + between + float(tail[core])


def _carried(release: FloatArray, work: FloatArray, startup: float, time: float) -> float:
    """Return the most work [us] that launches carry by a time [us], tensors by release."""
    end = np.asarray(ends(release, work, startup)[0])
    carried = np.concatenate([[0.0], np.cumsum(work)])
    return float((carried - np.maximum(0.0, end - time)).max())
