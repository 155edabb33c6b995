"""Mixtures of experts: what each layer sends to its experts and back holds up what comes next."""

import random

from solver.graph import ALL_REDUCE, ALL_TO_ALL, Op
from tests.families.drawing import ACTIVATION_BYTES, collective, compute, layers, step


def experts(generator: random.Random, collectives: int, batches: int) -> list[Op]:
    """Layers of attention and experts, in micro-batches that take turns on one GPU.

    In each pass of each layer two all-to-alls a micro-batch, and behind the last micro-batch's
    backward pass the all-reduce of the attention's gradients, all on one network.
    """
    drawn = layers(generator, max(1, round(collectives / (4 * batches + 1))))
    ops: list[Op] = []
    turns = range(batches)
    last: list[tuple[str, ...]] = [()] * batches
    for i, layer in enumerate(drawn):
        ops += [compute(f"fa{i}.{m}", layer.forward_us, *last[m]) for m in turns]
        for m in turns:
            ops.append(collective(f"d{i}.{m}", ALL_TO_ALL, ACTIVATION_BYTES, f"fa{i}.{m}"))
            ops.append(compute(f"fe{i}.{m}", layer.forward_us, f"d{i}.{m}"))
            ops.append(collective(f"c{i}.{m}", ALL_TO_ALL, ACTIVATION_BYTES, f"fe{i}.{m}"))
            last[m] = (f"c{i}.{m}",)
    for i, layer in reversed(list(enumerate(drawn))):
        for m in turns:
            ops.append(collective(f"cb{i}.{m}", ALL_TO_ALL, ACTIVATION_BYTES, *last[m]))
            ops.append(compute(f"be{i}.{m}", layer.backward_us, f"cb{i}.{m}"))
            ops.append(collective(f"db{i}.{m}", ALL_TO_ALL, ACTIVATION_BYTES, f"be{i}.{m}"))
        for m in turns:
            ops.append(compute(f"ba{i}.{m}", layer.backward_us, f"db{i}.{m}"))
            last[m] = (f"ba{i}.{m}",)
        behind = [f"ba{i}.{m}" for m in turns]
        ops.append(collective(f"g{i}", ALL_REDUCE, layer.gradients[0][1], *behind))
    ops.append(step([f"g{i}" for i in range(len(drawn))]))
    return ops
