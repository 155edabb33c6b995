"""In which order the downlinks that are ready at a step's start leave the server."""

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from solver.parameter_server.steps import DOWNLINK, Step, build_step


def in_order(step: Step, order: str, seed: int) -> Step:
    """Rearrange a step's ops so that the downlinks ready at its start leave in an order.

    Of ops that are ready at once the first in the step is served first, so these downlinks change
    places among themselves, and all other ops stay where they are.

    Parameters
    ----------
    step
        Any step; its transfers with or without what parses them.
    order
        One of :data:`ORDERS`.

        ``fifo``
            As they stand.
        ``tic``
            TicTac's order without times: a transfer costs 1, an op that computes 0. Of a
            downlink counts the least number of downlinks that an op needs which needs it and
            another one; smaller ones go first, then those that no op needs with another, and of
            equals the first in the step.
        ``reverse``
            The reverse of ``tic``.
        ``random``
            One permutation of their ids, the same for all steps with these downlinks.
    seed
        Of that permutation.

    Notes
    -----
    O(ops + edges) sets of n downlinks, each of n bits.

    References
    ----------
    .. [1] S. H. Hashemi et al., TicTac: Accelerating Distributed Deep Learning with Communication
           Scheduling, SysML 2019: Algorithm 1, and TIC.
    """
    places = [i for i, op in enumerate(step.ops) if op.kind == DOWNLINK and not step.preds[i]]
    chosen = _ORDERS[order](step, places, seed)
    if chosen == places:
        return step
    ops = list(step.ops)
    for place, source in zip(places, chosen, strict=True):
        ops[place] = step.ops[source]
    return build_step(ops)


def _fifo(_: Step, places: Sequence[int], __: int) -> list[int]:
    return list(places)


def _tic(step: Step, places: Sequence[int], _: int) -> list[int]:
    loads = _impending_loads(step)
    return sorted(places, key=lambda i: (loads[i], i))


def _reverse(step: Step, places: Sequence[int], seed: int) -> list[int]:
    return _tic(step, places, seed)[::-1]


def _random(step: Step, places: Sequence[int], seed: int) -> list[int]:
    by_name = sorted(places, key=lambda i: step.ops[i].id)
    permuted = np.random.Generator(np.random.PCG64(seed)).permutation(len(by_name))
    return [by_name[k] for k in permuted.tolist()]


def _impending_loads(step: Step) -> list[float]:
    """Compute of each op the M+ of TicTac's Algorithm 1 with transfers at 1; inf without any."""
    needs = [0] * len(step.ops)  # the downlinks that each op needs, itself included, as bits
    for i in step.order:
        for j in step.preds[i]:
            needs[i] |= needs[j]
        if step.ops[i].kind == DOWNLINK:
            needs[i] |= 1 << i
    loads = [inf] * len(step.ops)
    of_computed = {need for op, need in zip(step.ops, needs, strict=True) if not op.is_transfer}
    for need in sorted(of_computed, key=int.bit_count):
        count = need.bit_count()
        if count > 1:
            for i in _bits(need):
                loads[i] = min(loads[i], count)
    return loads


def _bits(mask: int) -> list[int]:
    """List the bits that are set, ascending."""
    return [i for i, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]


#: Each order's function of step, positions of the downlinks, and seed.
_ORDERS: dict[str, Callable[[Step, Sequence[int], int], list[int]]] = {
    "fifo": _fifo,
    "tic": _tic,
    "reverse": _reverse,
    "random": _random,
}
#: In which order downlinks may leave: see :func:`in_order`.
ORDERS = tuple(_ORDERS)
