"""The steps that a worker draws, and a step as the simulation goes through it."""

from collections.abc import Sequence

import numpy as np

from solver.parameter_server.record import RunOptions
from solver.parameter_server.steps import ServerStep
from solver.simulation.factors import lognormal


class StepProfile:
    """A profiled step in lists by op.

    Attributes
    ----------
    resource
        Number of the op's resource.
    amount
        Time that it takes there at full speed [us].
    succs
        What comes after it.
    waiting
        How many ops come before it.
    sources
        Ops that none comes before.
    """

    def __init__(self, step: ServerStep, names: Sequence[str], rates: Sequence[float]) -> None:
        number = {name: r for r, name in enumerate(names)}
        self.resource = [number[op.resource] for op in step.ops]
        self.amount = [
            op.bytes / rates[r] if op.bytes else op.duration_us or 0.0
            for r, op in zip(self.resource, step.ops, strict=True)
        ]
        self.succs = step.succs
        self.waiting = [len(preds) for preds in step.preds]
        self.sources = [i for i, preds in enumerate(step.preds) if not preds]


def draw(profiles: int, options: RunOptions, worker: int) -> tuple[list[int], list[float]]:
    """Draw a worker's steps and their factors; those of other workers do not count."""
    random = np.random.Generator(np.random.PCG64((options.seed, worker)))
    drawn = random.integers(profiles, size=options.steps)
    return drawn.tolist(), lognormal(random, options.spread, options.steps).tolist()
