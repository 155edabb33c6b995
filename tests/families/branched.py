"""Branched graphs: no collective behind a collective, but passes that are no chain."""

import random

from solver.graph import ALL_REDUCE, Op
from tests.families.drawing import bytes_near, collective, compute, time_near

#: An op and a gradient in the middle [us, bytes]: most are small, a few hundred times as large.
OP_US, GRADIENT_BYTES = 150.0, 300_000
#: Compute ops of each pass for a collective, and how far behind its inputs an op may stand.
OPS, FAR = 2, 6


def branched(generator: random.Random, collectives: int) -> list[Op]:
    """Draw a backward pass that branches, a gradient behind some of its ops, and a forward pass.

    Each op of the backward pass may have a gradient, the first ops of the forward pass need one
    each, and which is whose is drawn. All compute is on devices of its own.
    """
    count = OPS * collectives
    ops: list[Op] = []
    for k in range(count):
        before = [f"b{j}" for j in _inputs(generator, k)]
        ops.append(compute(f"b{k}", time_near(generator, OP_US, 1.2), *before, stream=None))
    behind = generator.sample(range(count), collectives)
    for i, k in enumerate(behind):
        size = bytes_near(generator, GRADIENT_BYTES, 1.6)
        ops.append(collective(f"g{i}", ALL_REDUCE, size, f"b{k}"))
    for k in range(count):
        before = [f"f{j}" for j in _inputs(generator, k)] or [f"b{count - 1}"]
        if k < collectives:
            before.append(f"g{k}")
        ops.append(compute(f"f{k}", time_near(generator, OP_US, 1.2), *before, stream=None))
    return ops


def _inputs(generator: random.Random, k: int) -> list[int]:
    """Draw one or two ops that stand a little before the k-th."""
    near = range(max(0, k - FAR), k)
    return sorted(generator.sample(near, min(len(near), generator.choice((1, 1, 2)))))
