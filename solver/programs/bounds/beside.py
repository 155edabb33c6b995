"""What collectives take longer than all that may run beside them.

While a channel carries some collectives J, a stream runs ops that neither come before nor after one
of them, and that are not apart from all of J by memory: an op and a collective are apart where what
both surely hold, if they run at once, is above the limit. The rest of J is added to the work of the
stream (MODEL.md section 16.5).
"""

from collections.abc import Sequence

import numpy as np

from solver.bounds.kinds import BESIDE
from solver.evidence.bound import Bound
from solver.programs.bounds.surely_live import BoolArray, followers, surely_live
from solver.programs.bounds.work import Resource, additive_times
from solver.programs.problem import ProgramProblem
from solver.units import FloatArray

#: Most pairs of an op and a collective that are looked at: more take longer than a list.
_PAIRS = 20_000

#: So many of the sets that begin best grow.
_GROWN = 4

#: What is held at once is a sum of floats: so much above the limit is within it.
_ROUNDING = 1e-12


def beside_bound(problem: ProgramProblem, resources: Sequence[Resource], best: Bound) -> Bound:
    """Return the best of a bound and of what collectives take that nothing may run beside.

    Notes
    -----
    O(collectives^2 * ops of a stream) in numpy, for each pair of a stream and a channel; nothing
    for large graphs.
    """
    graph = problem.graph
    if len(graph.collectives) * len(graph.ops) > _PAIRS:
        return best
    after = followers(graph)
    live = surely_live(problem, after)
    sizes = np.array([float(buffer.bytes) for buffer in graph.buffers])
    for other in resources:
        if other.parts[0].least is None:
            continue
        for own in resources:
            if own.parts[0].least is not None:
                continue
            work = np.array(additive_times(own))
            may = ~(after | after.T)[np.ix_(other.members, own.members)]
            if problem.limits.memory_bytes is not None:
                held = _held_at_once(live, sizes, other, own)
                may &= held <= problem.limits.memory_bytes * (1 + _ROUNDING)
            for value, chosen in _values(other, work, may):
                if value > best.value_us:
                    ids = tuple(graph.ops[i].id for i in other.members[chosen].tolist())
                    best = Bound(BESIDE, value, ids)
    return best


def _held_at_once(live: BoolArray, sizes: FloatArray, other: Resource, own: Resource) -> FloatArray:
    """Return what a collective (row) and an op (column) surely hold while both run [bytes]."""
    first, second = live[other.members] * sizes, live[own.members]
    alone = first.sum(axis=1)[:, None] + (second @ sizes)[None, :]
    both: FloatArray = alone - first @ second.T.astype(np.float64)
    return both


def _values(other: Resource, work: FloatArray, may: BoolArray) -> list[tuple[float, BoolArray]]:
    """List bounds by sets of collectives, and these [us].

    The sets are of all beside which no more may run than beside one of them. The best grow by what
    gains most.
    """
    times = np.array(additive_times(other))
    firsts = [_bound(other, work, may, allowed) for allowed in may]
    order = sorted(range(len(firsts)), key=lambda k: (-firsts[k][0], k))
    found = [firsts[k] for k in order]
    for k in order[:_GROWN]:
        allowed = may[k]
        while True:
            gains = times - (may & ~allowed) @ work
            gains[~(may & ~allowed).any(axis=1)] = 0.0
            most = int(gains.argmax())
            if gains[most] <= 0.0:
                break
            allowed = allowed | may[most]
            found.append(_bound(other, work, may, allowed))
    return found


def _bound(
    other: Resource, work: FloatArray, may: BoolArray, allowed: BoolArray
) -> tuple[float, BoolArray]:
    """Return the bound by all collectives beside which nothing may run but what is allowed."""
    chosen: BoolArray = np.asarray(~(may & ~allowed).any(axis=1))
    places = np.flatnonzero(chosen)
    sent = float(other.work(places, np.ones((1, len(places))))[0, 0]) if len(places) else 0.0
    return float(work.sum() - work[allowed].sum()) + sent, chosen
