"""Small random problems with everything that a problem may have."""

import random

from solver.costs import Cluster, network_of
from solver.graph import COLLECTIVES, Buffer, Op, build
from solver.programs.problem import ProgramLimits, ProgramProblem

NO_LIMITS = ProgramLimits()


def drawn(
    rng: random.Random,
    ops: int = 12,
    collectives: int = 5,
    *,
    channels: int = 2,
    with_buffers: bool = True,
    is_free: bool = True,
    limits: ProgramLimits = NO_LIMITS,
) -> ProgramProblem:
    """Draw a problem: ops in a random order of kinds, on a coarse grid so that ties occur.

    Any op may come after any earlier one, so collectives may follow collectives, or nothing. The
    compute is on the stream ``gpu``, free or given, some of it on ``side`` or on no stream.
    """
    is_collective = [True] * collectives + [False] * ops
    rng.shuffle(is_collective)
    made: list[Op] = []
    for place, travels in enumerate(is_collective):
        count = min(place, rng.choice((0, 1, 1, 2, 3)))
        after = tuple(sorted(op.id for op in rng.sample(made, count)))
        if travels:
            made.append(
                Op(
                    f"c{place}",
                    rng.choice(COLLECTIVES),
                    bytes=rng.choice((1000, 2000, 8000, 30_001)),
                    after=after,
                    channel=f"net{rng.randrange(channels)}",
                    fuse_key=rng.choice((None, "bf16")),
                    cut=False,
                )
            )
        else:
            stream = "gpu" if rng.random() < 0.8 else rng.choice(("side", None))
            made.append(
                Op(
                    f"o{place}",
                    "compute",
                    duration_us=rng.choice((0.0, 10.0, 20.0, 70.0)),
                    after=after,
                    stream=stream,
                )
            )
    buffers = _buffers(rng, made) if with_buffers else []
    free = ["gpu"] if is_free and any(op.stream == "gpu" for op in made) else []
    names = {op.channel for op in made if op.bytes is not None}
    cluster = Cluster(4, bandwidth_gbps=1.0, startup_us=rng.choice((0.0, 5.0, 50.0)))
    each = tuple((name, cluster) for name in sorted(names))
    whole = Cluster(4, bandwidth_gbps=1.0, channels=each)
    speed = rng.choice((None, 10.0, 1000.0))
    return ProgramProblem(build("drawn", made, buffers, free), network_of(whole), speed, limits)


def _buffers(rng: random.Random, ops: list[Op]) -> list[Buffer]:
    """Draw the outputs of the ops, read by some of what comes after them, and an input."""
    below: dict[str, list[str]] = {op.id: [] for op in ops}
    for op in ops:
        for name in op.after:
            below[name].append(op.id)
    buffers = [Buffer("input", 500, None, tuple(rng.sample(list(below), min(2, len(ops)))))]
    for op in ops:
        readers = tuple(name for name in below[op.id] if rng.random() < 0.8)
        if rng.random() < 0.2:
            readers = (*readers, op.id)
        size = rng.choice((0, 100, 1000))
        buffers.append(Buffer(f"{op.id} out", size, op.id, readers, rng.random() < 0.2))
    return buffers
