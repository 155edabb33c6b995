"""Robust answers: by which measure over draws of the costs one is chosen, and what came of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import MAX_ROBUST_DRAWS
from solver.units import FloatArray

Measure = Literal["mean", "p95"]

MEASURES: tuple[Measure, ...] = ("mean", "p95")


@dataclass(frozen=True, slots=True)
class RobustOptions:
    """How to choose a robust plan.

    Attributes
    ----------
    measure
        ``mean`` or ``p95`` of the iteration times over the draws, the latter on the line between
        the two nearest ordered times.
    draws
        How many.
    seed
        Of the draws, and of the local choice.
    """

    measure: Measure = "p95"
    draws: int = 50
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RobustRival:
    """What a policy takes under the same draws; it decides with the stated costs.

    Attributes
    ----------
    policy
        Its name.
    value_us
        The measure of its times [us].
    """

    policy: str
    value_us: float


@dataclass(frozen=True, slots=True)
class Robustness:
    """A robust plan beside the plan without draws and the policies.

    Attributes
    ----------
    measure, draws, seed
        As they were asked for.
    plan_us
        The measure of the plan's times [us].
    without_us
        The same of the plan for the stated costs alone [us].
    rivals
        The same of each policy with its defaults; beside a program, of those that keep its limit of
        memory.
    nominal_cost
        By which share the plan takes longer at the stated costs than the plan without draws; null
        where that takes no time.
    """

    measure: Measure
    draws: int
    seed: int
    plan_us: float
    without_us: float
    rivals: tuple[RobustRival, ...]
    nominal_cost: float | None


def robust_faults(options: RobustOptions) -> Iterator[Fault]:
    """List what is wrong with options; pointers begin with ``/robust``."""
    if options.measure not in MEASURES:
        detail = f"robust: measure must be one of {', '.join(MEASURES)}, got {options.measure!r}."
        yield Fault("/robust/measure", FaultCode.OUT_OF_RANGE, detail)
    if not 1 <= options.draws <= MAX_ROBUST_DRAWS:
        detail = f"robust: draws must be 1 to {MAX_ROBUST_DRAWS}, got {options.draws!r}."
        yield Fault("/robust/draws", FaultCode.OUT_OF_RANGE, detail)
    if options.seed < 0:
        detail = f"robust: seed must be 0 or more, got {options.seed!r}."
        yield Fault("/robust/seed", FaultCode.OUT_OF_RANGE, detail)


def measured(times: FloatArray, measure: Measure) -> float:
    """Return the measure of times under the draws [us]."""
    if measure == "mean":
        return float(times.mean())
    return float(np.quantile(times, 0.95, method="linear"))
