"""One plan at work: gradients go into its buckets, launches leave in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
from torch import nn

from interlace_client.torch.plans import BucketPlan, some
from interlace_client.torch.runtime.buffers import FlatBucket
from interlace_client.torch.runtime.launch_order import LaunchOrder
from interlace_client.torch.runtime.streams import streams_of
from interlace_client.torch.transport import Transport, Work


class Observer(Protocol):
    """Hears what happens, as it happens; it has the clock."""

    def ready(self, parameter: str) -> None:
        """Hear that a gradient is ready."""

    def launched(self, launch: int, works: Sequence[Work]) -> None:
        """Hear that a launch (its place in the plan) has been started."""

    def awaited(self, bucket: int) -> None:
        """Hear that a bucket is waited for."""

    def settled(self, bucket: int) -> None:
        """Hear that a bucket was waited for, and has arrived."""

    def stepped(self) -> None:
        """Hear that the optimizer's step was asked for."""


class Reduction:
    """Averages gradients over all ranks, by a plan, one backward pass at a time.

    Parameters
    ----------
    plan
        Buckets and launches, checked against the parameters.
    parameters
        By name.
    transport
        What sums.
    ranks
        How many there are.
    wire
        The type of numbers in which gradients are sent; None is their own.

    Attributes
    ----------
    transport
        What sums.
    streams
        The order of what happens on several streams, for each GPU.
    order
        Hears of launches before they are started.
    keys
        Ids of the parameters of each bucket.
    ready
        Ids of the parameters that are ready in this pass.
    is_launched
        Whether all launches of this pass have been started.
    """

    def __init__(
        self,
        plan: BucketPlan,
        parameters: Mapping[str, nn.Parameter],
        transport: Transport,
        ranks: int,
        wire: torch.dtype | None = None,
    ) -> None:
        self.plan = plan
        self.observer: Observer | None = None
        self.order: LaunchOrder | None = None
        self.members = [[parameters[name] for name in b.parameters] for b in plan.buckets]
        self.flats = [FlatBucket(members, wire) for members in self.members]
        self.keys = [frozenset(map(id, members)) for members in self.members]
        self.homes = {id(p): b for b, members in enumerate(self.members) for p in members}
        self._names = {id(parameters[n]): n for b in plan.buckets for n in b.parameters}
        self.transport = transport
        self.streams = streams_of(parameters.values(), len(self.members))
        self._ranks = ranks
        self._pieces = [list(self.flats[x.bucket].pieces(x.offset, x.bytes)) for x in plan.launches]
        self._last = {x.bucket: k for k, x in enumerate(plan.launches)}
        self.reset()

    def reset(self) -> None:
        """Begin another pass."""
        self.ready: set[int] = set()
        self._missing = [len(members) for members in self.members]
        self._is_packed = [False] * len(self.members)
        self._next = 0
        self.is_launched = False
        self._works: list[list[Work]] = [[] for _ in self.members]

    @property
    def is_begun(self) -> bool:
        """Whether a gradient of this pass has come."""
        return bool(self.ready)

    def names(self, parameters: Sequence[nn.Parameter]) -> list[str]:
        """Name parameters."""
        return [self._names[id(p)] for p in parameters]

    def missing(self) -> list[str]:
        """Name the parameters without a gradient in this pass."""
        return [name for key, name in self._names.items() if key not in self.ready]

    def take(self, key: int) -> int | None:
        """Count the gradient of a parameter, by its id, as ready; return its bucket when full.

        Raises
        ------
        RuntimeError
            When it is the parameter's second in this pass.
        """
        if key in self.ready:
            raise RuntimeError(
                f"{self._names[key]!r} got a second gradient in one backward pass. Checkpoints "
                "inside need use_reentrant=False; several backward passes before a step need "
                "no_sync() for all but the last."
            )
        self.ready.add(key)
        if self.observer:
            self.observer.ready(self._names[key])
        bucket = self.homes[key]
        for each in self.streams:
            each.take(bucket)
        self._missing[bucket] = missing = self._missing[bucket] - 1
        return None if missing else bucket

    def leave_out(self) -> list[int]:
        """Count what has no gradient as ready; return the buckets that this fills."""
        self.ready.update(self._names)
        buckets = [bucket for bucket, missing in enumerate(self._missing) if missing]
        self._missing = [0] * len(self._missing)
        return buckets

    def pack(self, bucket: int) -> None:
        """Put a full bucket's gradients, or zeros for none, in their places.

        Raises
        ------
        RuntimeError
            When one is sparse.
        """
        flat = self.flats[bucket]
        flat.replace_views()
        gradients = [p.grad for p in self.members[bucket]]
        for each in self.streams:
            each.before_packing(bucket, gradients)
        places, full = [], []
        for p, view, gradient in zip(self.members[bucket], flat.views, gradients):
            if gradient is None:
                view.zero_()
            elif gradient is not view:
                if gradient.layout is not torch.strided:
                    name = self._names[id(p)]
                    raise RuntimeError(f"{name!r} has a sparse gradient; buckets hold dense ones.")
                places.append(view)
                full.append(gradient)
        if full:  # one call for all: most are small, and calls cost more than they copy
            with torch.no_grad():
                torch._foreach_copy_(places, full)
        flat.divide(self._ranks)
        for each in self.streams:
            each.after_packing(bucket)
        self._is_packed[bucket] = True

    def wait_launched(self) -> None:
        """Check that all launches have been started.

        Raises
        ------
        RuntimeError
            When gradients are missing, with their parameters.
        """
        if not self.is_launched:
            missing = self.missing()
            raise RuntimeError(
                f"{len(missing)} of {len(self._names)} parameters got no gradient in the backward "
                f"pass: {some(missing)}. If the loss may leave some unused, set "
                "find_unused_parameters=True. Averages cannot be read inside a backward pass. "
                "After a pass that failed, detach() and wrap the module anew."
            )

    def wait(self, bucket: int) -> None:
        """Wait until a bucket's averages are there.

        Raises
        ------
        RuntimeError
            When gradients are missing before its launches, or a launch failed: a rank has left, or
            took longer than the timeout.
        """
        if self._last[bucket] >= self._next:
            self.wait_launched()
        if self.observer:
            self.observer.awaited(bucket)
        try:
            for work in self._works[bucket]:
                work.wait()
        except RuntimeError as error:
            raise RuntimeError(
                f"Bucket {self.plan.buckets[bucket].id!r} was not summed: a rank has left, or has "
                f"not come within the timeout ({error})."
            ) from error
        self.flats[bucket].unpack()
        if self.observer:
            self.observer.settled(bucket)

    def launch(self) -> None:
        """Start every launch whose turn has come and whose bucket is packed."""
        launches = self.plan.launches
        while self._next < len(launches) and self._is_packed[launches[self._next].bucket]:
            if self.order:
                self.order.launched()
            for each in self.streams:
                each.before_launch(launches[self._next].bucket)
            works = [self.transport.start(piece) for piece in self._pieces[self._next]]
            self._works[launches[self._next].bucket] += works
            if self.observer:
                self.observer.launched(self._next, works)
            self._next += 1
        self.is_launched = self._next == len(launches)
