"""Who sends the gradients of a run: a plan, another one, or DistributedDataParallel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from interlace_client.torch.plans import BucketPlan, PythonPlan
from interlace_client.torch.runtime.arrivals import Arrivals
from interlace_client.torch.runtime.buffer_copies import BufferCopies
from interlace_client.torch.runtime.compression import wire_of
from interlace_client.torch.runtime.guards import before_forward
from interlace_client.torch.runtime.handing_over import StandIn
from interlace_client.torch.runtime.passes import BackwardPasses
from interlace_client.torch.runtime.reduction import Observer
from interlace_client.torch.runtime.refusals import RefusingModule
from interlace_client.torch.runtime.sending import PlanSending
from interlace_client.torch.runtime.steps import BucketUpdates


class SentModule(RefusingModule):
    """A module whose gradients are sent; by whom changes between two steps, on all ranks.

    Attributes
    ----------
    module
        What is trained.
    between_steps
        Called before the first forward pass of each step but the first; None where nobody asks.
    """

    module: nn.Module
    between_steps: Callable[[], None] | None
    _arrivals: Arrivals
    _passes: BackwardPasses
    _steps: BucketUpdates
    _buffers_of: BufferCopies | None
    _sending: PlanSending
    _stand_in: StandIn
    _removals: tuple[Callable[[], None], ...] = ()

    @property
    def process_group(self) -> Any:
        """The ranks as they were given; None is the default group."""
        return self._sending.process_group

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return self._sending.ranks

    @property
    def plan(self) -> BucketPlan:
        """The plan in use."""
        return self._sending.plan

    @property
    def is_planned(self) -> bool:
        """Whether gradients travel by the plan, and not in DistributedDataParallel."""
        return self._stand_in.ddp is None

    @property
    def window(self) -> int:
        """How many launches may be under way at once; :meth:`install` changes it."""
        return self._sending.window

    @property
    def has_window(self) -> bool:
        """Whether launches go one at a time unless ``window`` says otherwise (gloo)."""
        return self._sending.has_window

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
        return self._sending.observer

    @observer.setter
    def observer(self, observer: Observer | None) -> None:
        self._sending.observer = observer

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
        if self._stand_in.hook is not None:
            raise RuntimeError("A communication hook is registered already.")
        wire = wire_of(state, hook, self.process_group)
        self.drain()
        self._sending.compress(wire)
        self._stand_in.compress(hook)

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
        self._sending.use(self.agreed(plan, window), window)
        self.barrier = self.barrier if barrier is None else barrier
        if not self.is_planned:
            self._stand_in.leave()
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
        self._stand_in.leave()
        self._remove_hooks()
        self._stand_in.take(bucket_cap_mb)
        self.between_steps = None

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
        return self._sending.agreed(plan, *others)

    def watch_order(self, steps: int = 2) -> None:
        """Compare the order of all collectives of the next steps over all ranks.

        Made at the start where launches go over NCCL, for the first two steps; all ranks do.
        """
        self._sending.watch_order(steps)

    def drain(self) -> None:
        """Have all gradients and updates that are on their way arrive.

        Raises
        ------
        RuntimeError
            When parameters got no gradient in the last backward pass, or a launch failed.
        """
        self._arrivals.drain()

    def _refuse_watched(self) -> None:
        """Refuse to change what an observer takes to be its own."""
        if self.observer is not None:
            raise RuntimeError(
                "Steering watches this run, and changes its plans itself: call its close() before "
                "install() or hand_over(), and make another one afterwards."
            )

    def _add_hooks(self) -> None:
        """Hear of reads of parameters and of gradients."""
        self._arrivals.guards.put(self.module)
        removals = [self._arrivals.guards.remove, *self._passes.hear()]
        if self._buffers_of and self._buffers_of.is_source:
            removals += before_forward(self.module, self._buffers_of.place)
        self._removals = tuple(removals)

    def _remove_hooks(self) -> None:
        for remove in self._removals:
            remove()
        self._removals = ()
