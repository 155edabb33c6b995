"""Buckets on their way: whatever reads a gradient or a parameter in them has them arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from interlace_client.torch.plans import some
from interlace_client.torch.runtime.guards import Guards
from interlace_client.torch.runtime.pending import class_in_waiting
from interlace_client.torch.runtime.reduction import Reduction
from interlace_client.torch.runtime.streams import flags_on, read_flags
from interlace_client.torch.runtime.updates import Options, Pieces
from interlace_client.torch.transport import Work


class Arrivals:
    """What is on its way between a backward pass and the next: averages, and updates by them.

    Parameters
    ----------
    parameters
        All that have gradients.

    Attributes
    ----------
    waiting
        Ids of the parameters whose updates are on their way.
    guards
        Have parameters arrive that are read through their modules.
    is_read
        Called when a gradient is read while it is on its way.
    lent
        Parameters that no rank used, with the gradient that :meth:`take_back` takes away.
    is_static
        Whether each pass uses what the first has used.
    is_counting
        Whether a first pass of a static graph has begun and is not over.
    used
        Ids of the parameters with a gradient of this rank's since the last pass that was sent.
    """

    reduction: Reduction

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.waiting: set[int] = set()
        self.used: set[int] = set()
        self.is_static = self.is_counting = False
        self.lent: list[tuple[nn.Parameter, torch.Tensor]] = []
        self.guards = Guards(self.waiting, self.await_parameters)
        self._parameters = list(parameters)
        self.is_read: Callable[[], None] = lambda: None
        self._gradient = class_in_waiting(torch.Tensor, self._await_gradient)
        plain = {type(p) for p in self._parameters}
        self._cleared: set[int] = set()
        self._plain = {
            class_in_waiting(each, self._await_parameter, self._cleared): each for each in plain
        }
        self._in_waiting = {each: cls for cls, each in self._plain.items()}
        # gradients of parameters without one in this pass, by id: what stays when no rank has one
        self._before: dict[int, torch.Tensor | None] = {}
        self._used_by_any: tuple[torch.Tensor, Work] | None = None
        self._are_used: set[int] | None = None

    def use(self, reduction: Reduction) -> None:
        """Take a plan's reduction, when nothing is on its way."""
        before: Reduction | None = getattr(self, "reduction", None)
        for each in before.streams if before else ():
            each.finish()
        self.reduction = reduction
        self._is_there = [True] * len(reduction.members)
        self._updates: list[list[tuple[Pieces, Options]]] = [[] for _ in reduction.members]
        self._versions: list[list[tuple[Sequence[nn.Parameter], list[int]]]] = [
            [] for _ in reduction.members
        ]

    @property
    def is_begun(self) -> bool:
        """Whether a pass has begun and not all of it has arrived."""
        return self.reduction.is_begun

    def begin(self) -> None:
        """Begin a pass."""
        self._is_there = [False] * len(self._is_there)

    def fill(self, bucket: int) -> None:
        """Pack a bucket whose gradients are ready, and launch what can go."""
        reduction = self.reduction
        reduction.pack(bucket)
        members, waiting = reduction.members[bucket], self._gradient
        if not self.used.issuperset(reduction.keys[bucket]):
            self._before |= {id(p): p.grad for p in members if id(p) not in self.used}
        for p, view in zip(members, reduction.flats[bucket].views):
            p.grad = view
            view.__class__ = waiting
        reduction.launch()

    def end_unused(self) -> None:
        """End a pass that may have left parameters out: zeros for them, and which they were."""
        bitmap = [id(p) in self.used for p in self._parameters]
        for bucket in self.reduction.leave_out():
            self.fill(bucket)
        flags = flags_on(self._parameters[0].device, bitmap)
        self._used_by_any = flags, self.reduction.transport.start(flags)

    def update_later(self, pieces: Pieces, options: Options) -> None:
        """Have an optimizer step the parameters of each bucket when they are first read."""
        for bucket, is_there in enumerate(self._is_there):
            members = pieces.parameters(bucket)
            if is_there:
                pieces.step(bucket, options)
            elif members:
                self._updates[bucket].append((pieces, options))
                new = members
                if not self.waiting.isdisjoint(map(id, members)):  # of another optimizer
                    new = [p for p in members if id(p) not in self.waiting]
                self._versions[bucket].append((new, [p._version for p in new]))
                self.waiting.update(map(id, new))
                _turn(new, self._in_waiting)
        if self.waiting:
            self.guards.close()

    def clear_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Set gradients to None; those of updates that are on their way are so after these."""
        for p in parameters:
            if id(p) in self.waiting:
                self._cleared.add(id(p))
            else:
                p.grad = None

    def has_other_gradients(self, pieces: Pieces) -> bool:
        """Tell whether someone has put other gradients in the place of those on their way."""
        reduction = self.reduction
        return any(
            p.grad is not view and id(p) in pieces.members
            for members, flat in zip(reduction.members, reduction.flats)
            for p, view in zip(members, flat.views)
        )

    def await_parameters(self, parameters: Iterable[nn.Parameter | None]) -> None:
        """Have the updates of parameters arrive."""
        for parameter in parameters:
            if id(parameter) in self.waiting:
                self.settle(self.reduction.homes[id(parameter)])

    def drain(self) -> None:
        """Have everything arrive, end the pass, and leave gradients as they are to be.

        Raises
        ------
        RuntimeError
            When parameters got no gradient in the pass, or a launch failed.
        """
        self._check_first_pass()
        self._arrive()
        self.take_back()

    def check_pass(self) -> None:
        """Check that the backward pass before this forward pass has come to its end.

        Raises
        ------
        RuntimeError
            When parameters got no gradient in it, or it failed.
        """
        if torch._C._current_graph_task_id() == -1:  # not of a checkpoint inside that pass
            self._check_first_pass()
        if self.is_begun:
            self.reduction.wait_launched()

    def _check_first_pass(self) -> None:
        if self.is_counting:
            raise RuntimeError(
                "static_graph=True: the first backward pass failed, or did not begin at what the "
                "model returned. Compute the loss of tensors in lists, tuples, dicts or other "
                "pytrees that the forward pass returns. After a pass that failed, detach() and "
                "wrap the module anew."
            )

    def give_up(self) -> None:
        """Forget what has not arrived, and the gradients of its pass."""
        if self.is_begun or self.is_counting:
            for p in self._parameters:
                p.grad = None
        for flat in self.reduction.flats:
            for view in flat.views:
                view.__class__ = torch.Tensor
        _turn(self._parameters, self._plain)
        self.waiting.clear()
        self._cleared.clear()
        self.guards.open(frozenset())
        self.lent.clear()

    def _arrive(self) -> None:
        """Have everything arrive, and end the pass."""
        if self.reduction.is_begun:
            self.reduction.wait_launched()
            for bucket in range(len(self._is_there)):
                self.settle(bucket)
            self.reduction.reset()
            self.used.clear()
            self._before.clear()
            if not self.is_static:
                self._used_by_any = self._are_used = None

    def take_back(self) -> None:
        """Have parameters that no rank used be without a gradient again.

        Not as soon as that is known: it may be known because a gradient is read, by who has seen
        that there is one.
        """
        for p, view in self.lent:
            if p.grad is view:
                p.grad = None
        self.lent.clear()

    def _keep(self, parameter: nn.Parameter, view: torch.Tensor) -> None:
        """Leave the gradient as it was, of a parameter that no rank used."""
        before = self._before[id(parameter)]
        if before is None:
            view.zero_()
            self.lent.append((parameter, view))
        elif before is not view:
            view.copy_(before)

    def settle(self, bucket: int) -> None:
        """Have a bucket's gradients arrive, and make its updates."""
        if self._is_there[bucket]:
            return
        reduction = self.reduction
        reduction.wait(bucket)
        self._check_written(bucket)
        self._is_there[bucket] = True
        members, views = reduction.members[bucket], reduction.flats[bucket].views
        for view in views:
            view.__class__ = torch.Tensor
        updates, self._updates[bucket] = self._updates[bucket], []
        if updates:
            self._versions[bucket].clear()
            _turn(members, self._plain)
            self.waiting -= reduction.keys[bucket]
            self.guards.open(reduction.keys[bucket])
        gradients = self._gradients_of(bucket)
        if updates:
            _update(bucket, updates, members, gradients)
            if self._cleared:
                for p in members:
                    if id(p) in self._cleared:
                        p.grad = None
                self._cleared -= reduction.keys[bucket]
        for each in reduction.streams:
            each.after_arrival()

    def _check_written(self, bucket: int) -> None:
        """Check that nobody has written parameters past what waits for their updates.

        Raises
        ------
        RuntimeError
            When someone has, who would not have written into what the update makes of them.
        """
        with torch._C.DisableTorchFunctionSubclass():
            written = [
                p
                for members, versions in self._versions[bucket]
                for p, version in zip(members, versions)
                if p._version != version
            ]
        if written:
            raise RuntimeError(
                f"{some(self.reduction.names(written))}: written while an update was on its way, "
                "through a tensor that has shared the memory since before the step (a detach(), a "
                "state dict). Call drain() before."
            )

    def _gradients_of(self, bucket: int) -> Sequence[torch.Tensor | None]:
        """Return a bucket's averages; what no rank used has the gradient of before, if any."""
        views, keys = self.reduction.flats[bucket].views, self.reduction.keys[bucket]
        if self._used_by_any is None or self.used.issuperset(keys):
            return views  # nothing to ask the other ranks, who may be late
        if self._are_used is None:
            used = read_flags(*self._used_by_any)
            self._are_used = {id(p) for p, is_used in zip(self._parameters, used) if is_used}
        gradients: list[torch.Tensor | None] = list(views)
        for k, (p, view) in enumerate(zip(self.reduction.members[bucket], views)):
            if id(p) not in self._are_used:
                self._keep(p, view)
                if self._before.get(id(p)) is None:
                    gradients[k] = None
        return gradients

    def _await_gradient(self, _: torch.Tensor) -> None:
        self.is_read()
        self._arrive()

    def _await_parameter(self, parameter: Any) -> None:
        self.await_parameters((parameter,))


def _update(
    bucket: int,
    updates: Sequence[tuple[Pieces, Options]],
    members: Sequence[nn.Parameter],
    gradients: Sequence[torch.Tensor | None],
) -> None:
    """Step a bucket's parameters by its averages, whatever the user's loop is doing."""
    before = [p.grad for p in members]
    others = [
        (p, theirs, own) for p, theirs, own in zip(members, before, gradients) if theirs is not own
    ]
    for p, _, own in others:
        p.grad = own
    with torch.inference_mode(mode=False), torch.autocast(members[0].device.type, enabled=False):
        for pieces, options in updates:
            pieces.step(bucket, options)
    for p, theirs, _ in others:
        p.grad = theirs


def _turn(tensors: Iterable[Any], classes: Mapping[type, type]) -> None:
    """Give tensors the classes that those of theirs become; the others keep theirs."""
    for tensor in tensors:
        if (plain := type(tensor)) in classes:
            tensor.__class__ = classes[plain]
