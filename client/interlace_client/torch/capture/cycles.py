"""From events to cycles: a backward pass, the optimizer's step, and the next forward pass.

A cycle begins where the gradient of an output of the model is there (the loss is computed and its
gradient too) and ends where the next one begins, one step later. Of several backward passes in a
step only the last has communication to hide; the others lie before it, in the cycle's rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace_client.torch.capture.events import (
    BACKWARD_END,
    BACKWARD_LEFT,
    CALL,
    ENTER,
    FORWARD,
    FORWARD_END,
    OUTPUT,
    READY,
    STEP,
    STEPPED,
    CaptureEvent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Cycle:
    """One turn of the training loop on one rank; times in microseconds.

    Parameters
    ----------
    ready_us
        When the gradient of each parameter was ready, from the start of the backward pass on.
    backward_us
        How long the backward pass took, without what others waited for at its end.
    update_us
        How long the optimizer's step took.
    between_us
        From the backward pass to the next forward pass, without the optimizer's step.
    held_us
        The part of that before the optimizer's step, in which all gradients may be asked for.
    entered_us
        When each module was first entered, from the start of the forward pass on.
    forward_us
        How long the first forward pass of the step took.
    turn_us
        From the start of that forward pass to the start of the backward pass that is the next
        cycle's: the loss, and all passes before the last when gradients are accumulated.
    waited_us
        Seen to be waiting for others, and in none of the times above.
    passes
        Backward passes of the step.
    """

    ready_us: dict[int, float]
    backward_us: float
    update_us: float
    between_us: float
    held_us: float
    entered_us: dict[int, float]
    forward_us: float
    turn_us: float
    waited_us: float
    passes: int

    @property
    def compute_us(self) -> float:
        """All of it but the waiting."""
        return self.backward_us + self.update_us + self.between_us + self.turn_us


def cycles_of(events: Sequence[CaptureEvent]) -> list[Cycle]:
    """Read the cycles between the first and the last step that events are of.

    A step whose optimizer never stepped (a gradient scaler skips it) counts with the next one; a
    step without a gradient makes no cycle.

    Raises
    ------
    ValueError
        The optimizer calls the model within its step, which has no place in a cycle.
    """
    steps: list[list[CaptureEvent]] = [[]]
    for event in events:
        steps[-1].append(event)
        if event.kind == STEPPED:
            steps.append([])
    found = [None if (last := _last_pass(step)) is None else (step, last) for step in steps]
    return [
        _cycle(before[0], before[1], after[0], after[1])
        for before, after in zip(found, found[1:])
        if before and after and before[0][-1].kind == STEPPED
    ]


@dataclass(frozen=True)
class _Pass:
    """The last backward pass of a step: where it begins in the step's events, and when."""

    index: int
    at: float
    passes: int


def _last_pass(step: Sequence[CaptureEvent]) -> _Pass | None:
    starts = [i for i, event in enumerate(step) if event.kind == FORWARD]
    runs = [
        (start, stop)
        for start, stop in zip(starts, [*starts[1:], len(step)])
        if any(event.kind in {READY, OUTPUT} for event in step[start:stop])
    ]
    if not runs:
        return None
    start, stop = runs[-1]
    own = range(start, stop)
    ends = [i for i in own if step[i].kind == FORWARD_END][:1]
    begins = [i for i in own if step[i].kind in {OUTPUT, READY}]
    # checkpointed as a whole, a model has an output without a gradient; what only the loss uses
    # is ready before it
    if ends and not any(step[i].kind == OUTPUT for i in own):
        begins = ends
    first = begins[0]
    return _Pass(first, step[first].at, len(runs))


def _cycle(
    step: Sequence[CaptureEvent], origin: _Pass, after: Sequence[CaptureEvent], until: _Pass
) -> Cycle:
    backward = step[origin.index :]
    step_index = max(i for i, event in enumerate(step) if event.kind == STEP)
    if any(event.kind == FORWARD for event in step[step_index:]):
        raise ValueError("The optimizer calls the model within its step; such steps have no cycle.")
    begun = step[step_index].at
    ready = {event.subject: event.at - origin.at for event in backward if event.kind == READY}
    last = max((event.at for event in backward if event.kind == READY), default=origin.at)
    ended = max((event.at for event in backward if event.kind == BACKWARD_END), default=last)
    ended = max(ended, last)
    left = max((event.at for event in backward if event.kind == BACKWARD_LEFT), default=ended)
    left = max(left, ended)
    stepped = backward[-1].at

    first = next(i for i, event in enumerate(after) if event.kind == FORWARD)
    start = after[first].at
    called = max((event.at for event in after[:first] if event.kind == CALL), default=start)
    turn = until.at - start
    entered: dict[int, float] = {}
    forward = None
    for event in after[first : until.index]:
        if event.kind == ENTER:
            entered.setdefault(event.subject, event.at - start)
        elif event.kind == FORWARD_END and forward is None:
            forward = event.at - start
    return Cycle(
        ready_us=ready,
        backward_us=ended - origin.at,
        update_us=stepped - begun,
        between_us=(begun - left) + (called - stepped),
        held_us=begun - left,
        entered_us=entered,
        forward_us=turn if forward is None else forward,
        turn_us=turn,
        waited_us=(left - ended) + (start - called),
        passes=until.passes,
    )
