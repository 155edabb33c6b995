"""Data-parallel training by a plan: in the place of DistributedDataParallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch.plans import BucketPlan, PythonPlan, reversed_buckets
from interlace_client.torch.runtime.arrivals import Arrivals
from interlace_client.torch.runtime.buffer_copies import BufferCopies
from interlace_client.torch.runtime.compression import register, wire_of
from interlace_client.torch.runtime.guards import before_forward, guard, is_guarded
from interlace_client.torch.runtime.handing_over import successor
from interlace_client.torch.runtime.launch_order import (
    LaunchOrder,
    check_order,
    order_beside,
)
from interlace_client.torch.runtime.passes import BackwardPasses, refuse_shared
from interlace_client.torch.runtime.ranks import agreed_plan, take_from_first
from interlace_client.torch.runtime.reduction import Observer, Reduction
from interlace_client.torch.runtime.refusals import RefusingModule
from interlace_client.torch.runtime.start_phase import StartPhase
from interlace_client.torch.runtime.steps import BucketUpdates, warn_of_optimizers
from interlace_client.torch.runtime.streams import refuse_capture
from interlace_client.torch.runtime.wrapping import (
    known_parameters,
    refuse_module,
    refuse_wrapper,
    shared_buffers,
)
from interlace_client.torch.transport import PrivateGroup, Transport


class PlannedDDP(RefusingModule):
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
    (``parameters()``, ``state_dict()``, evaluation, averages of weights) waits for them; who keeps
    a list of parameters of his own calls :meth:`drain` before he reads them.

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
    process_group, ranks
        As given, and how many there are.
    between_steps
        Called before the first forward pass of each step but the first, outside of all passes;
        :meth:`install`, :meth:`hand_over` and :meth:`detach` make it None.
    phase
        What holds steps back to their times; None without :meth:`hold_phase`.
    optimizers, window
        As given; the window as it was changed since.

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
        self.process_group = process_group
        self._is_sharing_buffers = broadcast_buffers
        self._wire: torch.dtype | None = None
        self._hook: Any = None
        self._order: LaunchOrder | None = None
        self._known = known_parameters(module)
        refuse_shared(self._known)
        self.ranks = dist.get_world_size(process_group) if transport is None else 1
        self._timeout = timeout
        self._transport = transport or PrivateGroup(process_group, window=window, timeout=timeout)
        self.window, self._transports = window, {window: self._transport}
        self._buffers_of = (
            BufferCopies(module, process_group, timeout)
            if transport is None and broadcast_buffers and shared_buffers(module)
            else None
        )
        self._arrivals = Arrivals(self._known.values())
        self._passes = BackwardPasses(
            self._known.values(),
            self._arrivals,
            self._begin_pass,
            find_unused=find_unused_parameters,
            static_graph=static_graph,
        )
        self.optimizers = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else optimizer
        warn_of_optimizers(self.optimizers, self._known)
        self._steps = BucketUpdates(
            self.optimizers, self._arrivals, self._after_step, barrier=barrier
        )
        self._arrivals.is_read = self._steps.say_that_gradients_are_read
        self._observer: Observer | None = None
        self._use(self.agreed(reversed_buckets(_sizes(self._known)) if plan is None else plan))
        if transport is None:
            take_from_first(module, self._transport)
        self.between_steps: Callable[[], None] | None = None
        self.phase: StartPhase | None = None
        self._is_stepped = False
        self._unseen: Iterable[nn.Parameter] = ()
        self._removals: list[Callable[[], None]] = []
        self._overrides = self._steps.override()
        self._ddp: DistributedDataParallel | None = None
        self._add_hooks()
        if transport is None and dist.get_backend(process_group) == dist.Backend.NCCL:
            self.watch_order()

    def _add_hooks(self) -> None:
        """Hear of reads of parameters and of gradients."""
        arrivals = self._arrivals
        self._removals, self._unseen = guard(
            self.module, arrivals.waiting, arrivals.await_parameters
        )
        self._removals += self._passes.hear()
        if self._buffers_of and self._buffers_of.is_source:
            self._removals += before_forward(self.module, self._buffers_of.place)

    def _remove_hooks(self) -> None:
        for remove in self._removals:
            remove()
        self._removals, self._unseen = [], ()

    @property
    def plan(self) -> BucketPlan:
        """The plan in use."""
        return self._arrivals.reduction.plan

    @property
    def is_planned(self) -> bool:
        """Whether gradients travel by the plan, and not in DistributedDataParallel."""
        return self._ddp is None

    @property
    def has_window(self) -> bool:
        """Whether launches go one at a time unless ``window`` says otherwise (gloo)."""
        own = isinstance(self._transport, PrivateGroup)
        return own and dist.get_backend(self.process_group) == dist.Backend.GLOO

    @property
    def barrier(self) -> bool:
        """Whether ``optimizer.step()`` waits for all buckets; may be changed between two steps."""
        return self._steps.barrier

    @barrier.setter
    def barrier(self, barrier: bool) -> None:
        self._steps.barrier = barrier

    @property
    def observer(self) -> Observer | None:
        """What hears of gradients, launches and steps."""
        return self._observer

    @observer.setter
    def observer(self, observer: Observer | None) -> None:
        self._observer = self._arrivals.reduction.observer = observer

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Have gradients sent in fewer bits from here on, by one of PyTorch's ``default_hooks``.

        As with DistributedDataParallel, whose averages these are bit for bit on two ranks. All
        ranks do, between two steps.

        Parameters
        ----------
        state
            The process group, or None.
        hook
            ``fp16_compress_hook``, ``bf16_compress_hook`` or ``allreduce_hook``.

        Raises
        ------
        NotImplementedError
            When it is another hook.
        RuntimeError
            When a hook is registered already, or the ranks' hooks differ.
        """
        if self._hook is not None:
            raise RuntimeError("A communication hook is registered already.")
        wire = wire_of(state, hook, self.process_group)
        self.drain()
        plan = self.agreed(self.plan, wire)
        self._wire, self._hook = wire, hook
        self._use(plan)
        if self._ddp is not None:
            register(self._ddp, self.process_group, hook)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module; each parameter waits for its own bucket."""
        refuse_wrapper()
        refuse_capture()
        if self._is_stepped and torch.is_grad_enabled():
            self._is_stepped = False
            self._check_order()
            if self.phase is not None:
                self.phase.wait()
            if self.between_steps:
                self.between_steps()
        if self._ddp is not None:
            self._ddp.require_backward_grad_sync = (
                self._passes.is_syncing
            )  # what its no_sync() sets
            return self._ddp(*inputs, **kwargs)
        if torch.is_grad_enabled():
            self._arrivals.check_pass()
        if self._buffers_of:
            self._buffers_of.finish()
        self._arrivals.await_parameters(self._unseen)
        return self._passes.watched(self.module(*inputs, **kwargs))

    def install(
        self,
        plan: Mapping[str, Any] | BucketPlan | PythonPlan,
        *,
        barrier: bool | None = None,
        window: int | None = None,
    ) -> None:
        """Take another plan from here on; all ranks do, between two steps.

        Parameters
        ----------
        plan
            As at the start.
        barrier, window
            As at the start; None leaves them.

        Raises
        ------
        UnusablePlan
            When it is not of this model, with all differences; the plan in use stays.
        RuntimeError
            When the ranks' plans, models or windows differ; inside a backward pass; while Steering
            watches the run.
        """
        self._refuse_watched()
        self.drain()
        read = self.agreed(plan, window)
        if window is not None and window not in self._transports:
            own = PrivateGroup(self.process_group, window=window, timeout=self._timeout)
            self._transports[window] = own
        self.window = self.window if window is None else window
        self._transport = self._transports[self.window]
        self._use(read)
        self.barrier = self.barrier if barrier is None else barrier
        if not self.is_planned:
            self._leave_ddp()
            self._add_hooks()
        self.between_steps = None

    def hand_over(self, bucket_cap_mb: float | None = None) -> None:
        """Have gradients sent by a DistributedDataParallel of the module from here on.

        All ranks do, between two steps; the loop stays as it is. :meth:`install` takes them back.
        ``bucket_cap_mb`` is DistributedDataParallel's; None is its default.

        Raises
        ------
        RuntimeError
            While Steering watches the run.
        """
        self._refuse_watched()
        self.drain()
        self._leave_ddp()
        if self._buffers_of:
            self._buffers_of.finish()
        self._remove_hooks()
        find_unused, static_graph = self._passes.kind
        ddp = successor(
            self.module,
            self.process_group,
            bucket_cap_mb,
            self._hook,
            find_unused=find_unused,
            static_graph=static_graph,
            broadcast_buffers=self._is_sharing_buffers,
        )
        object.__setattr__(self, "_ddp", ddp)  # no module of this one: names of states stay
        self.between_steps = None

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
        if self._observer is not None or self.between_steps is not None:
            raise RuntimeError("A trial or Steering measures the steps of this run: end it first.")
        self.drain()
        self.agreed(self.plan, offset_us, period_us)
        self.phase = phase

    def _refuse_watched(self) -> None:
        """Refuse to change what an observer takes to be its own."""
        if self._observer is not None:
            raise RuntimeError(
                "Steering watches this run, and changes its plans itself: call its close() before "
                "install() or hand_over(), and make another one afterwards."
            )

    def _leave_ddp(self) -> None:
        """Let go of the DistributedDataParallel that sent gradients, if one did.

        It must be gone: while there is one it counts gradients, and after a forward pass that had
        no backward pass it would send those of the next.
        """
        if self._ddp is not None and self._buffers_of:
            self._buffers_of.is_due = self._ddp.require_forward_param_sync
        object.__setattr__(self, "_ddp", None)

    def agreed(
        self, plan: Mapping[str, Any] | BucketPlan | PythonPlan, *others: object
    ) -> BucketPlan:
        """Read and check a plan that all ranks have, and that the ``others`` are the same on all.

        Raises
        ------
        UnusablePlan
            When it is not of this model, with all differences.
        RuntimeError
            When the ranks' plans, models or ``others`` differ.
        """
        sizes = dict(_sizes(self._known))
        options = (*self._passes.kind, self._buffers_of is not None, *others)
        return agreed_plan(plan, sizes, self.module, options, self.ranks, self.process_group)

    def _use(self, plan: BucketPlan) -> None:
        """Begin to use a plan that all ranks have."""
        reduction = Reduction(plan, self._known, self._transport, self.ranks, self._wire)
        reduction.observer, reduction.order = self._observer, self._order
        self._arrivals.use(reduction)
        self._steps.use(reduction.homes)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add gradients up without sending them; wrap forward and backward passes."""
        before, self._passes.is_syncing = self._passes.is_syncing, False
        try:
            yield
        finally:
            self._passes.is_syncing = before

    def drain(self) -> None:
        """Have all gradients and updates that are on their way arrive.

        Raises
        ------
        RuntimeError
            When parameters got no gradient in the last backward pass, or a launch failed.
        """
        self._arrivals.drain()

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
        self._leave_ddp()
        self.between_steps = None

    def watch_order(self, steps: int = 2) -> None:
        """Compare the order of all collectives of the next steps over all ranks.

        Made at the start where launches go over NCCL, for the first two steps; all ranks do.
        """
        self._order = order_beside(getattr(self._transport, "group", None), steps)
        self._arrivals.reduction.order = self._order

    def _check_order(self) -> None:
        """Compare the order of a step that is over."""
        if self._order is not None and self.is_planned:
            check_order(self._order, self.process_group)
            if self._order.steps == 0:
                self._order = self._arrivals.reduction.order = None

    def _begin_pass(self) -> None:
        if self._buffers_of:
            self._buffers_of.is_due = True

    def _after_step(self) -> None:
        if self._buffers_of:
            self._buffers_of.start()
        self._is_stepped = True
        if self._observer:
            self._observer.stepped()


def _sizes(parameters: Mapping[str, nn.Parameter]) -> list[tuple[str, int]]:
    return [(name, p.numel() * p.element_size()) for name, p in parameters.items()]
