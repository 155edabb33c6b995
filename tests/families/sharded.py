"""Sharded parameters, gradients and optimizer states: FSDP, ZeRO-1, and ZeRO-1 beside tensors."""

import random

from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, Op
from solver.models import parallel
from tests.families.drawing import (
    ACTIVATION_BYTES,
    STEP_US,
    collective,
    compute,
    layers,
    time_near,
)

#: A shard's update [us].
UPDATE_US = 50.0


def fsdp(generator: random.Random, collectives: int, limit: int, *, even: bool) -> list[Op]:
    """Units gathered before each pass, so many at once, and scattered behind the backward pass."""
    drawn = layers(generator, max(1, round((collectives + 1) / 3)), even=even)
    return list(parallel.fsdp("fsdp", drawn, limit=limit, step_us=STEP_US).ops)


def zero(generator: random.Random, collectives: int) -> list[Op]:
    """ZeRO-1, from the backward pass to the next forward pass.

    Gradients are reduced and scattered, each worker updates its shard, and the parameters are
    gathered before the layer's forward pass, all on one network.
    """
    drawn = layers(generator, max(1, round(collectives / 2)))
    ops: list[Op] = []
    last: tuple[str, ...] = ()
    for i, layer in reversed(list(enumerate(drawn))):
        size = layer.gradients[0][1]
        ops.append(compute(f"b{i}", layer.backward_us, *last))
        last = (f"b{i}",)
        ops.append(collective(f"rs{i}", REDUCE_SCATTER, size, *last))
        ops.append(compute(f"u{i}", time_near(generator, UPDATE_US, 0.2), f"rs{i}", stream=None))
        ops.append(collective(f"ag{i}", ALL_GATHER, size, f"u{i}"))
    for i, layer in enumerate(drawn):
        ops.append(compute(f"f{i}", layer.forward_us, *last, f"ag{i}"))
        last = (f"f{i}",)
    return ops


def tensors_and_zero(generator: random.Random, collectives: int) -> list[Op]:
    """Layers split over a node's GPUs, two all-reduces a pass there, and ZeRO-1 between nodes."""
    drawn = layers(generator, max(1, round(collectives / 6)))
    ops: list[Op] = []
    last: tuple[str, ...] = ()
    for i, layer in reversed(list(enumerate(drawn))):
        for half in (1, 0):
            ops.append(compute(f"b{i}.{half}", layer.backward_us, *last))
            ops.append(_exchange(f"bx{i}.{half}", f"b{i}.{half}"))
            last = (f"bx{i}.{half}",)
        size = layer.gradients[0][1]
        ops.append(collective(f"rs{i}", REDUCE_SCATTER, size, f"b{i}.0"))
        ops.append(collective(f"ag{i}", ALL_GATHER, size, f"rs{i}"))
    for i, layer in enumerate(drawn):
        for half in (0, 1):
            ops.append(compute(f"f{i}.{half}", layer.forward_us, *last, f"ag{i}"))
            ops.append(_exchange(f"fx{i}.{half}", f"f{i}.{half}"))
            last = (f"fx{i}.{half}",)
    return ops


def _exchange(name: str, after: str) -> Op:
    return collective(name, ALL_REDUCE, ACTIVATION_BYTES, after, channel=parallel.NVLINK)
