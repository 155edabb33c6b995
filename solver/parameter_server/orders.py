"""In which order the downlinks that are ready at a step's start leave the server."""

from collections.abc import Callable, Iterator, Sequence
from math import inf

import numpy as np

from solver.parameter_server.steps import DOWNLINK, ServerStep, build_step


def in_order(step: ServerStep, order: str, seed: int) -> ServerStep:
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
            another one; smaller ones go first, then those that no op needs with another. Of equals
            goes first what an op needs with the fewest others, then the first in the step.
        ``reverse``
            The reverse of ``tic``.
        ``random``
            One permutation of their ids, the same for all steps with these downlinks.
    seed
        Of that permutation.

    Notes
    -----
    O(ops + edges) operations on sets of the n downlinks, each of n bits.

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


def _fifo(_: ServerStep, places: Sequence[int], __: int) -> list[int]:
    return list(places)


def _tic(step: ServerStep, places: Sequence[int], _: int) -> list[int]:
    loads, fewest = _impending_loads(step)
    return sorted(places, key=lambda i: (loads[i], fewest[i], i))


def _reverse(step: ServerStep, places: Sequence[int], seed: int) -> list[int]:
    return _tic(step, places, seed)[::-1]


def _random(step: ServerStep, places: Sequence[int], seed: int) -> list[int]:
    by_name = sorted(places, key=lambda i: step.ops[i].id)
    permuted = np.random.Generator(np.random.PCG64(seed)).permutation(len(by_name))
    return [by_name[k] for k in permuted.tolist()]


def _impending_loads(step: ServerStep) -> tuple[dict[int, float], dict[int, float]]:
    """Compute of each downlink the M+ of TicTac's Algorithm 1, transfers at 1; inf without any.

    And how many downlinks an op that needs it needs at least, itself counted.
    """
    downlinks = [i for i, op in enumerate(step.ops) if op.kind == DOWNLINK]
    bit = {i: 1 << k for k, i in enumerate(downlinks)}
    needs = [0] * len(step.ops)  # the downlinks that each op needs, itself included, as bits
    for i in step.order:
        needs[i] = bit.get(i, 0)
        for j in step.preds[i]:
            needs[i] |= needs[j]
    computed = {need for op, need in zip(step.ops, needs, strict=True) if not op.is_transfer}
    loads = dict.fromkeys(downlinks, inf)
    fewest = dict.fromkeys(downlinks, inf)
    seen = met = 0
    for need in sorted(computed, key=int.bit_count):
        for k in _bits(need & ~met):
            fewest[downlinks[k]] = need.bit_count()
        met |= need
        if need.bit_count() > 1:  # the least first, so each downlink counts once
            for k in _bits(need & ~seen):
                loads[downlinks[k]] = need.bit_count()
            seen |= need
    return loads, fewest


def _bits(mask: int) -> Iterator[int]:
    """List the bits that are set, ascending."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


#: Each order's function of step, positions of the downlinks, and seed.
_ORDERS: dict[str, Callable[[ServerStep, Sequence[int], int], list[int]]] = {
    "fifo": _fifo,
    "tic": _tic,
    "reverse": _reverse,
    "random": _random,
}
#: In which order downlinks may leave: see :func:`in_order`.
ORDERS = tuple(_ORDERS)
