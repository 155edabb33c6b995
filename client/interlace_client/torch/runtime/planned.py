"""Data-parallel training by a plan: in the place of DistributedDataParallel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.plans import BucketPlan, PythonPlan
from interlace_client.torch.runtime.arrivals import Arrivals
from interlace_client.torch.runtime.buffer_copies import BufferCopies
from interlace_client.torch.runtime.guards import is_guarded
from interlace_client.torch.runtime.handing_over import StandIn
from interlace_client.torch.runtime.passes import BackwardPasses, refuse_shared
from interlace_client.torch.runtime.ranks import take_from_first
from interlace_client.torch.runtime.senders import SentModule
from interlace_client.torch.runtime.sending import PlanSending
from interlace_client.torch.runtime.start_phase import StartPhase
from interlace_client.torch.runtime.steps import BucketUpdates, warn_of_optimizers
from interlace_client.torch.runtime.streams import refuse_capture
from interlace_client.torch.runtime.wrapping import (
    known_parameters,
    refuse_module,
    refuse_wrapper,
    shared_buffers,
)
from interlace_client.torch.transport import Transport


class PlannedDDP(SentModule):
    """Averages gradients over all ranks by a plan, and lets each parameter wait for its own bucket.

    The loop stays as it is::

        model = PlannedDDP(model, optimizer, plan)  # in the place of DistributedDataParallel(model)
        for batch in loader:
            loss_of(model, batch).backward()
            optimizer.step()
            optimizer.zero_grad()

    Launches are made from gradient hooks, in the plan's order on every rank. ``optimizer.step()``
    returns at once: the update of a bucket's parameters is made when the next forward pass first
    reads one of them, with the options (learning rate, ...) of that step. Whatever reads a gradient
    before (clipping, a gradient scaler, a log) has all buckets arrive, and the step is then the
    optimizer's own: as with the barrier, which is said once. Reading parameters through the module
    (``parameters()``, ``state_dict()``, evaluation, averages of weights) waits for them, and so
    does whoever kept a list of them. Nobody hears of what is read or written through a tensor or a
    dict kept since before the step: ``p.data``, ``p.detach()``, ``optimizer.state[p]`` and what is
    in it. It is that of before the update; what is written to ``p.data`` or to the state then goes
    into the update in silence, where a write through ``p.detach()`` raises. Call :meth:`drain`
    before.

    Gradients, buffers and state dicts are those of DistributedDataParallel; gradients are views of
    the buckets, as there with ``gradient_as_bucket_view``.

    Parameters
    ----------
    module
        The model. A compiled one is compiled before it is given.
    optimizer
        The optimizer of its parameters, or several; none is as ``barrier``.
    plan
        What ``interlace.plan`` returned, the answer of ``POST /v1/plans`` or
        ``interlace plan --json``, or what
        :func:`~interlace_client.torch.plans.read_plan` made of it. None is the buckets that
        DistributedDataParallel begins with, in the reverse order of the parameters.
    barrier
        Whether ``optimizer.step()`` waits for all buckets, as with DistributedDataParallel. It must
        for an optimizer whose update of a parameter depends on other parameters.
    process_group
        The ranks; None is the default group. Launches go through a group of their own.
    find_unused_parameters
        Whether a pass may leave parameters without a gradient, which then count as zeros. What no
        rank used keeps its gradient as it is, and is not updated.
    static_graph
        Whether each step uses the same parameters as often as the first, which is counted. A
        parameter may then get several gradients in a pass, as of a block that is checkpointed
        with ``use_reentrant=True`` and used twice, or none.
    broadcast_buffers
        Whether buffers become the first rank's after each step.
    window
        How many launches may be under way at once (gloo).
    timeout
        After which a launch without all ranks fails on those that make it; None is the group's.
    transport
        What carries the launches; None is a
        :class:`~interlace_client.torch.transport.PrivateGroup`.

    Attributes
    ----------
    between_steps
        Called before the first forward pass of each step but the first, outside of all passes;
        :meth:`install`, :meth:`hand_over` and :meth:`detach` make it None.
    phase
        What holds steps back to their times; None without :meth:`hold_phase`.
    optimizers
        As given.

    Raises
    ------
    TypeError
        When the module is in a DistributedDataParallel already, or holds one; when its parameters
        are sharded (``fully_shard``, tensor parallelism). A wrapper around this that sends
        gradients is refused where it is made, or at its first forward pass.
    UnusablePlan
        When the plan is not of this model, with all differences.
    RuntimeError
        When the ranks' plans or models differ, with the ranks; when another PlannedDDP has the
        module, or parameters of it.
    """

    def __init__(
        self,
        module: nn.Module,
        optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] = (),
        plan: Mapping[str, Any] | BucketPlan | PythonPlan | None = None,
        *,
        barrier: bool = False,
        process_group: Any = None,
        find_unused_parameters: bool = False,
        static_graph: bool = False,
        broadcast_buffers: bool = True,
        window: int = 1,
        timeout: timedelta | None = None,
        transport: Transport | None = None,
    ) -> None:
        super().__init__()
        refuse_module(module, (DistributedDataParallel, PlannedDDP))
        if is_guarded(module):
            raise RuntimeError(
                "Another PlannedDDP sends the gradients of this module: call its detach() first."
            )
        self.module = module
        known = known_parameters(module)
        refuse_shared(known)
        self._buffers_of = (
            BufferCopies(module, process_group, timeout)
            if transport is None and broadcast_buffers and shared_buffers(module)
            else None
        )
        self._arrivals = Arrivals(known.values())
        self._passes = BackwardPasses(
            known.values(),
            self._arrivals,
            self._begin_pass,
            find_unused=find_unused_parameters,
            static_graph=static_graph,
        )
        self.optimizers = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else optimizer
        warn_of_optimizers(self.optimizers, known)
        self._steps = BucketUpdates(
            self.optimizers, self._arrivals, self._after_step, barrier=barrier
        )
        self._arrivals.is_read = self._steps.say_that_gradients_are_read
        self._stand_in = StandIn(
            module,
            process_group,
            self._buffers_of,
            find_unused=find_unused_parameters,
            static_graph=static_graph,
            broadcast_buffers=broadcast_buffers,
        )
        self._sending = PlanSending(
            module,
            known,
            self._arrivals,
            self._steps,
            (*self._passes.kind, self._buffers_of is not None),
            process_group=process_group,
            window=window,
            timeout=timeout,
            transport=transport,
        )
        self._sending.use(self._sending.agreed(plan))
        if transport is None:
            take_from_first(module, self._sending.transport)
        self.between_steps = None
        self.phase: StartPhase | None = None
        self._is_stepped = False
        self._overrides = self._steps.override()
        self._add_hooks()
        if transport is None and dist.get_backend(process_group) == dist.Backend.NCCL:
            self.watch_order()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module; each parameter waits for its own bucket."""
        refuse_wrapper()
        refuse_capture()
        if self._is_stepped and torch.is_grad_enabled():
            self._is_stepped = False
            if self.is_planned:
                self._sending.check_order()
            if self.phase is not None:
                self.phase.wait()
            if self.between_steps:
                self.between_steps()
        if not self.is_planned:
            return self._stand_in.forward(inputs, kwargs, is_syncing=self._passes.is_syncing)
        if torch.is_grad_enabled():
            self._arrivals.check_pass()
        if self._buffers_of:
            self._buffers_of.finish()
        self._arrivals.await_parameters(self._arrivals.guards.unseen)
        return self._passes.watched(self.module(*inputs, **kwargs))

    def hold_phase(self, offset_us: float, period_us: float) -> None:
        """Have each step begin at an offset within a period, beside other jobs that do.

        All ranks do, between two steps. A rank waits before the first forward pass of a step,
        whoever sends the gradients; what steps take then holds that wait
        (:class:`~interlace_client.torch.runtime.start_phase.StartPhase`). ``phase = None`` ends it.

        Parameters
        ----------
        offset_us, period_us
            When in which period steps begin, by the clocks of the hosts [us].

        Raises
        ------
        ValueError
            When the period is not above 0, or the offset not within it.
        RuntimeError
            When the ranks' differ, or a trial or Steering measures the steps.
        """
        phase = StartPhase(offset_us, period_us)
        if self.observer is not None or self.between_steps is not None:
            raise RuntimeError("A trial or Steering measures the steps of this run: end it first.")
        self.drain()
        self.agreed(self.plan, offset_us, period_us)
        self.phase = phase

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add gradients up without sending them; wrap forward and backward passes."""
        before, self._passes.is_syncing = self._passes.is_syncing, False
        try:
            yield
        finally:
            self._passes.is_syncing = before

    def detach(self) -> nn.Module:
        """Drain, take all hooks off, and return the module as it was given.

        Raises
        ------
        RuntimeError
            When something on its way will not arrive, since a backward pass failed or a rank has
            left. The hooks are off then, too: its updates are lost, the gradients of its pass are
            None, and another PlannedDDP may have the module.
        """
        try:
            self.drain()
        finally:
            self._arrivals.give_up()
            self._let_go()
        return self.module

    def _let_go(self) -> None:
        self._remove_hooks()
        for restore in self._overrides:
            restore()
        self._overrides = []
        self._stand_in.leave()
        self.between_steps = None

    def _begin_pass(self) -> None:
        if self._buffers_of:
            self._buffers_of.is_due = True

    def _after_step(self) -> None:
        if self._buffers_of:
            self._buffers_of.start()
        self._is_stepped = True
        if self.observer:
            self.observer.stepped()
