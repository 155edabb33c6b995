"""Pipelines: stages that each run one pass forward, one backward (1F1B)."""

import random
from collections.abc import Iterator

from solver.graph import ALL_REDUCE, BROADCAST, Op
from tests.families.drawing import BACKWARD, collective, compute, step, time_near

#: The channel between stages.
P2P = "p2p"
#: What a stage sends to the next [bytes], its gradients in one collective [bytes], and the forward
#: pass of a micro-batch in the middle [us].
SENT_BYTES, GRADIENT_BYTES, FORWARD_US = 5_000_000, 20_000_000, 800.0
#: Stages, micro-batches and gradients a stage that make about so many collectives.
SHAPES = {
    8: (2, 2, 2),
    16: (2, 4, 4),
    50: (4, 5, 5),
    150: (6, 12, 5),
    300: (8, 18, 6),
    1000: (8, 64, 13),
    3000: (16, 95, 9),
}


def pipeline(generator: random.Random, collectives: int) -> list[Op]:
    """Send activations and their gradients between stages, and all-reduce each stage's own.

    All stages send on one channel, and all gradients on the other.
    """
    stages, batches, gradients = SHAPES[min(SHAPES, key=lambda size: abs(size - collectives))]
    ops: list[Op] = []
    for s in range(stages):
        gpu = f"gpu{s}"
        for direction, k in one_forward_one_backward(stages - 1 - s, batches):
            name = f"{direction}{s}.{k}"
            time = time_near(generator, FORWARD_US, 0.05)
            if direction == "f":
                before = [f"sf{s - 1}.{k}"] if s else []
                ops.append(compute(name, time, *before, stream=gpu))
                sends = s < stages - 1
            else:
                before = [f"sb{s + 1}.{k}" if s < stages - 1 else f"f{s}.{k}"]
                ops.append(compute(name, BACKWARD * time, *before, stream=gpu))
                sends = s > 0
            if sends:
                ops.append(collective(f"s{name}", BROADCAST, SENT_BYTES, name, channel=P2P))
        behind = f"b{s}.{batches - 1}"
        named = [f"g{s}.{g}" for g in range(gradients)]
        ops += [collective(name, ALL_REDUCE, GRADIENT_BYTES, behind) for name in named]
        ops.append(step(named, gpu))
    return ops


def one_forward_one_backward(warmup: int, batches: int) -> Iterator[tuple[str, int]]:
    """Passes of a stage in order: some forward, then one forward and one backward in turn."""
    warmup = min(warmup, batches)
    yield from (("f", k) for k in range(warmup))
    for k in range(batches):
        if warmup + k < batches:
            yield "f", warmup + k
        yield "b", k
