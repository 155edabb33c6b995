"""The figures of a step: what compute and launches took, of one rank and of all."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from statistics import median
from typing import TYPE_CHECKING

from interlace_client.torch.drift.channel import ratios, stretches
from interlace_client.torch.drift.work import work_clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace_client.torch.drift.recorder import MeasuredStep

#: What a row has before the figures of parameters: the step, its buckets, its begin and its rest.
_HEAD = 4


@dataclass(frozen=True)
class Conditions:
    """What a plan is made for, in brief.

    Attributes
    ----------
    step_us
        What a step takes; None when it is not known yet.
    compute_us
        What all compute of a step takes, without communication beside it.
    slowness
        How many times as long as calibrated launches take; None when nobody can tell.
    """

    step_us: float | None
    compute_us: float
    slowness: float | None

    def has_left(self, before: Conditions, threshold: float) -> bool:
        """Tell whether anything differs from before by more than a share."""
        is_other_step = abs(_factor(self.step_us, before.step_us) - 1) > threshold
        return is_other_step or bool(self.changes(before, threshold))

    def changes(self, before: Conditions, threshold: float) -> list[str]:
        """Say of what a step consists of how it differs from before by more than a share."""
        told = [
            ("launches take", _factor(self.slowness, before.slowness)),
            ("compute takes", _factor(self.compute_us, before.compute_us)),
        ]
        return [
            f"{what} {factor:.2f} times as long as planned for"
            for what, factor in told
            if abs(factor - 1) > threshold
        ]


def _factor(now: float | None, before: float | None) -> float:
    """Return how many times as large as before something is; 1 where that is not known."""
    return now / before if now is not None and before else 1.0


@dataclass(frozen=True)
class TypicalStep:
    """A typical step of all ranks, over some steps: medians of what the slowest rank took.

    Compute is as it would be without communication beside it.

    Attributes
    ----------
    steps_us
        What each step took.
    held_us
        Compute from the step's call to the first gradient: updates, forward pass, and what lies
        between steps.
    ready_us
        Compute from the first gradient to each of the others.
    rest_us
        Compute from the last gradient to the end of the step's call.
    barrier
        Whether all buckets were waited for before the end of the step's call, whoever asked.
    launches
        Bytes of each launch, and how many times as long as expected it took; by the rank that was
        the last to start it. Launches that nobody could time are left out.
    """

    steps_us: tuple[float, ...]
    held_us: float
    ready_us: Mapping[str, float]
    rest_us: float
    barrier: bool
    launches: tuple[tuple[int, float], ...]

    @property
    def step_us(self) -> float:
        """What a step took."""
        return median(self.steps_us)

    @property
    def compute_us(self) -> float:
        """What all compute of a step took."""
        return self.held_us + max(self.ready_us.values(), default=0.0) + self.rest_us

    @property
    def conditions(self) -> Conditions:
        """The figures in brief; larger launches count more."""
        sent = sum(size for size, _ in self.launches)
        slowness = sum(size * ratio for size, ratio in self.launches) / sent if sent else None
        return Conditions(self.step_us, self.compute_us, slowness)


def row_of(
    step: MeasuredStep, parameters: Sequence[str], expected: Sequence[float], slowdown: float
) -> list[float]:
    """Write the figures of a step on one rank; of all ranks the largest of each count.

    Parameters
    ----------
    step
        One whose begin was seen.
    parameters
        In the order in which they are written.
    expected
        What each launch should take [us].
    slowdown
        How many times as long compute takes beside communication.
    """
    own = stretches(step.launches)
    work = work_clock(step.waits, [*stretches(step.carried), *own], slowdown)
    first = work(min(step.ready.values()))
    held = first - work(step.held)
    rest = work(step.left) - work(max(step.ready.values()))
    offsets = [work(step.ready[name]) - first for name in parameters]
    begin = step.held if step.begin is None else step.begin
    taken = [-inf if ratio is None else -ratio for ratio in ratios(own, expected)]
    return [step.end - begin, float(step.awaited), held, rest, *offsets, *taken]


def figures_of(
    rows: Sequence[Sequence[float]],
    parameters: Sequence[str],
    sizes: Sequence[int],
    buckets: int,
) -> TypicalStep:
    """Read rows of all ranks, a step each.

    Parameters
    ----------
    rows
        One or more.
    parameters
        As they were written.
    sizes
        Bytes of each launch.
    buckets
        How many there are.
    """
    columns = list(zip(*rows))
    named, sent = columns[_HEAD : _HEAD + len(parameters)], columns[_HEAD + len(parameters) :]
    timed = [
        (size, [-each for each in column if isfinite(each)]) for size, column in zip(sizes, sent)
    ]
    return TypicalStep(
        steps_us=tuple(columns[0]),
        barrier=median(columns[1]) >= buckets,
        held_us=median(columns[2]),
        rest_us=median(columns[3]),
        ready_us={name: median(column) for name, column in zip(parameters, named)},
        launches=tuple((size, median(found)) for size, found in timed if found),
    )
