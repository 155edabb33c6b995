"""Hooks that note what happens in a training loop, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import Variable

from interlace_client.torch.capture.entrances import on_entry, on_exit
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
)
from interlace_client.torch.runtime.planned import PlannedDDP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from interlace_client.torch.capture.anatomy import Anatomy


class Hooks:
    """The hooks of a recording, from when it begins until they are removed.

    Parameters
    ----------
    anatomy
        Of the model.
    note
        Takes the kind of an event and its subject.
    """

    def __init__(self, anatomy: Anatomy, note: Callable[[str, int], None]) -> None:
        self._anatomy, self._note = anatomy, note
        self._ending = False
        self._depth = 0  # of steps: that of a subclass may call that of its base
        self._removals: list[Callable[[], None]] = []
        if anatomy.outer is not anatomy.root:
            self._removals.append(on_entry(anatomy.outer, self._call))
        self._removals.append(on_entry(anatomy.root, self._forward))
        for i, (_, parameter) in enumerate(anatomy.parameters):
            ready = self._ready(i)
            self._removals.append(parameter.register_post_accumulate_grad_hook(ready).remove)

    def watch_end(self) -> None:
        """Note the end of forward passes, after what hooks that are there by now do there."""
        self._removals.append(on_exit(self._anatomy.root, self._forward_end))

    def watch_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Note its steps."""
        self._removals += [
            optimizer.register_step_pre_hook(self._step).remove,
            optimizer.register_step_post_hook(self._stepped).remove,
        ]

    def watch_modules(self, positions: Iterable[int]) -> None:
        """Note when modules are entered."""
        for i in positions:
            self._removals.append(on_entry(self._anatomy.modules[i][1], self._enter(i)))

    def remove(self) -> None:
        """Leave model and optimizer as they were."""
        while self._removals:
            self._removals.pop()()

    def _call(self, *_: Any) -> None:
        if self._counts():
            self._note(CALL, -1)

    def _forward(self, *_: Any) -> None:
        if self._counts():
            # whatever ended the last step and its pass, be it an error
            self._depth, self._ending = 0, False
            self._note(FORWARD, -1)

    def _forward_end(self, module: Any, args: Any, output: Any) -> None:
        if self._counts():
            self._note(FORWARD_END, -1)
            for tensor in _tensors(output):
                if tensor.requires_grad:
                    tensor.register_hook(self._output)

    def _step(self, *_: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            if isinstance(self._anatomy.wrapper, PlannedDDP):
                self._note(BACKWARD_LEFT, -1)  # under its barrier it waits here
            self._note(STEP, -1)

    def _stepped(self, *_: Any) -> None:
        self._depth = max(self._depth - 1, 0)
        if self._depth == 0:
            self._note(STEPPED, -1)

    def _enter(self, i: int) -> Callable[..., None]:
        note = self._note

        def enter(*_: Any) -> None:
            if not is_backward():
                note(ENTER, i)

        return enter

    def _ready(self, i: int) -> Callable[[torch.Tensor], None]:
        note = self._note

        def ready(_: torch.Tensor) -> None:
            note(READY, i)
            self._watch_backward()

        return ready

    def _output(self, _: torch.Tensor) -> None:
        self._note(OUTPUT, -1)
        self._watch_backward()

    def _watch_backward(self) -> None:
        """Note the end of the backward pass, before and after what a wrapper does there."""
        if not self._ending:
            self._ending = True
            _at_end(self._backward_end)

    def _backward_end(self) -> None:
        self._ending = False
        self._note(BACKWARD_END, -1)
        if self._anatomy.wrapper is not None:
            _at_end(lambda: self._note(BACKWARD_LEFT, -1))

    def _counts(self) -> bool:
        """Whether this is a forward pass of training: no evaluation, no checkpoint run again."""
        return not is_backward() and (torch.is_grad_enabled() or self._anatomy.root.training)


def is_backward() -> bool:
    """Whether a backward pass is under way in this thread, as PyTorch's checkpointing asks it."""
    return bool(torch._C._current_graph_task_id() != -1)


def _at_end(callback: Callable[[], None]) -> None:
    """Have the engine call something when the pass is over; those who ask first are called first.

    It has no public name, but DistributedDataParallel and FSDP wait for their communication so.
    """
    Variable._execution_engine.queue_callback(callback)


def _tensors(output: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of what a model returns."""
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, dict):
        yield from _tensors(list(output.values()))
    elif isinstance(output, (list, tuple)):
        for each in output:
            yield from _tensors(each)
    elif hasattr(output, "__dict__"):
        yield from _tensors(list(vars(output).values()))
