"""Recording steps of a training loop: which hooks are there when, and what becomes of their notes.

Two steps show which module uses which parameter first; watching for it takes time, so the times are
of the steps after them, with a hook for each gradient and each of these modules. After the last
step nothing is left in the model or the optimizer, as soon as the next begins.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from interlace_client.torch.capture.anatomy import anatomy_of
from interlace_client.torch.capture.clocks import HostClock, clock_of
from interlace_client.torch.capture.cycles import Cycle, cycles_of
from interlace_client.torch.capture.events import (
    CALL,
    FORWARD,
    FORWARD_END,
    STEP,
    STEPPED,
    CaptureEvent,
)
from interlace_client.torch.capture.first_uses import FirstUses
from interlace_client.torch.capture.hooks import Hooks
from interlace_client.torch.capture.merging import recording_of
from interlace_client.torch.capture.notes import notes_of
from interlace_client.torch.capture.ranks import RankRecord, gather
from interlace_client.torch.capture.recording import Recording, Tensor
from interlace_client.torch.runtime.planned import PlannedDDP

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import nn

#: Steps in which first uses are watched.
_WATCHED = 2
#: How often a gradient scaler may skip the optimizer's step, halving its scale from 2^16 on.
_SKIPPED = 20


class Capture:
    """Records the next steps of a training loop that stays as it is.

    ::

        capture = Capture(model, optimizer, steps=5)
        for batch in loader:  # as ever
            ...
            if capture.is_done:
                break  # or go on: nothing of the capture is left
        recording = capture.recording()

    Parameters
    ----------
    model
        What the loop calls: the model, compiled or not, alone or in DistributedDataParallel.
    optimizer
        Its steps end the steps of the loop; without one :meth:`end_step` does.
    steps
        How many to record, 3 at least. The first two tell which module uses which parameter, the
        others how long all takes.

    Raises
    ------
    ValueError
        Fewer than 3 steps, or a model that has no parameter to train or some not initialized.
    """

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer | None, steps: int = 5
    ) -> None:
        if steps <= _WATCHED:
            raise ValueError(f"steps must be {_WATCHED + 1} at least, got {steps}.")
        self._anatomy = anatomy_of(model)
        self._steps, self._done = steps, 0
        self._has_optimizer = optimizer is not None
        self._clock = clock_of(self._anatomy.parameters[0][1].device)
        self._events: list[tuple[str, int, Any]] = []
        self._barrier: bool | None = None
        if isinstance(self._anatomy.wrapper, PlannedDDP):
            # else the forward pass would wait wherever it reads a parameter
            self._barrier, self._anatomy.wrapper.barrier = self._anatomy.wrapper.barrier, True
        self._hooks = Hooks(self._anatomy, self._note)
        self._first_uses: FirstUses | None = FirstUses(self._anatomy)
        self._hooks.watch_end()
        self._uses: dict[int, tuple[int, ...]] = {}
        if optimizer is not None:
            self._hooks.watch_optimizer(optimizer)

    @property
    def is_done(self) -> bool:
        """Whether all steps are recorded; hooks go where the next begins, if not before."""
        return self._done >= self._steps

    def stop(self) -> None:
        """Remove all hooks; before the last step is done, there will be no recording."""
        if self._first_uses is not None:
            self._first_uses.remove()
            self._first_uses = None
        self._hooks.remove()
        if isinstance(self._anatomy.wrapper, PlannedDDP) and self._barrier is not None:
            self._anatomy.wrapper.barrier, self._barrier = self._barrier, None

    def recording(self, process_group: Any = None) -> Recording:
        """Bring together what all ranks saw, on every rank that calls it; all of the group must.

        Parameters
        ----------
        process_group
            Of the ranks that train together; None for the default one, if there is any.

        Raises
        ------
        Unrecorded
            On some rank the steps are not done, or cannot be read.
        RanksDiffer
            The models of the ranks differ in names, shapes or types of their parameters.
        """
        if self.is_done:
            self.stop()
        return recording_of(gather(self._record(), process_group))

    def end_step(self) -> None:
        """End a step by hand, where no optimizer of PyTorch's does."""
        self._note(STEP, -1)
        self._note(STEPPED, -1)

    def _note(self, kind: str, subject: int) -> None:
        if self.is_done:
            # not at the end of the optimizer's step, which goes through its hooks there
            if kind in {CALL, FORWARD}:
                self.stop()
            return
        self._events.append((kind, subject, self._clock.stamp()))
        if kind == STEPPED:
            self._stepped()
        elif self._first_uses is not None:
            if kind == FORWARD:
                self._first_uses.begin_forward()
            elif kind == FORWARD_END:
                self._first_uses.end_forward()

    def _stepped(self) -> None:
        self._done += 1
        if self._done == 1:
            self._events.clear()  # the first step warms up
        if self._first_uses is not None:
            self._first_uses.begin_step()
            if self._done == _WATCHED:
                self._uses = {i: tuple(m) for i, m in self._first_uses.uses.items()}
                self._first_uses.remove()
                self._first_uses = None
                self._hooks.watch_modules(sorted({m for used in self._uses.values() for m in used}))

    def _record(self) -> RankRecord:
        """Read what was noted, once all is over."""
        anatomy = self._anatomy
        cycles: tuple[Cycle, ...] = ()
        failure, left_out = None, 0
        if not self.is_done:
            failure = f"{self._done} of {self._steps} steps are recorded."
        else:
            try:
                found = self._cycles()
            except ValueError as error:
                failure, found = str(error), []
            counts = Counter(cycle.passes for cycle in found)
            # steps that are skipped or made again have more passes than the others
            usual = min(counts, key=lambda passes: (-counts[passes], passes), default=0)
            cycles = tuple(cycle for cycle in found if cycle.passes == usual)
            left_out = len(found) - len(cycles)
            if not cycles and failure is None:
                failure = "No backward pass was seen between the steps of the optimizer."
        return RankRecord(
            tensors=tuple(_tensor(name, p) for name, p in anatomy.parameters),
            modules=tuple(name for name, _ in anatomy.modules),
            uses=self._uses,
            cycles=cycles,
            notes=notes_of(
                anatomy,
                left_out=left_out,
                has_optimizer=self._has_optimizer,
                is_host=isinstance(self._clock, HostClock),
            ),
            wrapper=None if anatomy.wrapper is None else type(anatomy.wrapper).__name__,
            failure=failure,
        )

    def _cycles(self) -> list[Cycle]:
        if not self._events:
            return []
        times = self._clock.read([stamp for _, _, stamp in self._events])
        events = [CaptureEvent(kind, i, at) for (kind, i, _), at in zip(self._events, times)]
        return cycles_of(events)


def capture(
    model: nn.Module,
    step: Callable[[], object],
    optimizer: torch.optim.Optimizer | None = None,
    steps: int = 5,
    process_group: Any = None,
) -> Recording:
    """Train some steps and record them.

    Parameters
    ----------
    model
        What the step calls: the model, compiled or not, alone or in DistributedDataParallel.
    step
        Trains one step, from its data to the optimizer; called ``steps`` times, and once more for
        each step that a gradient scaler skips.
    optimizer
        Whose step it is. Without one each call is a step, and the optimizer's time is not told
        from what else lies between the passes.
    steps
        How many to record, 3 at least.
    process_group
        Of the ranks that train together, which all call this; None for the default one, if any.

    Raises
    ------
    ValueError
        As :class:`Capture`.
    Unrecorded, RanksDiffer
        As :meth:`Capture.recording`.
    """
    recorder = Capture(model, optimizer, steps)
    try:
        for _ in range(steps + _SKIPPED):
            if recorder.is_done:
                break
            step()
            if optimizer is None:
                recorder.end_step()
    finally:
        recorder.stop()
    return recorder.recording(process_group)


def _tensor(name: str, parameter: nn.Parameter) -> Tensor:
    return Tensor(
        name,
        tuple(parameter.shape),
        str(parameter.dtype).rpartition(".")[2],
        parameter.element_size(),
    )
