"""By what plan the gradients of a run are sent: over what, and in which type of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from interlace_client.torch.plans import BucketPlan, PythonPlan, reversed_buckets
from interlace_client.torch.runtime.arrivals import Arrivals
from interlace_client.torch.runtime.launch_order import LaunchOrder, check_order, order_beside
from interlace_client.torch.runtime.ranks import agreed_plan
from interlace_client.torch.runtime.reduction import Observer, Reduction
from interlace_client.torch.runtime.steps import BucketUpdates
from interlace_client.torch.transport import PrivateGroup, Transport


class PlanSending:
    """The plan of a run at work; another takes its place between two steps.

    Parameters
    ----------
    module, known
        The model, and its parameters that have gradients, by name.
    arrivals, steps
        Of the run: they are told of each plan.
    options
        What else all ranks must have alike.
    process_group, window, timeout, transport
        As of PlannedDDP.

    Attributes
    ----------
    process_group, ranks
        As given, and how many there are.
    window
        How many launches may be under way at once.
    transport
        What carries them.
    """

    def __init__(
        self,
        module: nn.Module,
        known: Mapping[str, nn.Parameter],
        arrivals: Arrivals,
        steps: BucketUpdates,
        options: tuple[object, ...],
        *,
        process_group: Any,
        window: int,
        timeout: timedelta | None,
        transport: Transport | None,
    ) -> None:
        self._module, self._known = module, known
        self._arrivals, self._steps, self._options = arrivals, steps, options
        self.process_group = process_group
        self.ranks = dist.get_world_size(process_group) if transport is None else 1
        self._timeout = timeout
        self.transport = transport or PrivateGroup(process_group, window=window, timeout=timeout)
        self.window, self._transports = window, {window: self.transport}
        self._wire: torch.dtype | None = None
        self._observer: Observer | None = None
        self._order: LaunchOrder | None = None

    @property
    def plan(self) -> BucketPlan:
        """The plan in use."""
        return self._arrivals.reduction.plan

    @property
    def has_window(self) -> bool:
        """Whether launches go one at a time unless ``window`` says otherwise (gloo)."""
        own = isinstance(self.transport, PrivateGroup)
        return own and dist.get_backend(self.process_group) == dist.Backend.GLOO

    @property
    def observer(self) -> Observer | None:
        """What hears of gradients, launches and steps."""
        return self._observer

    @observer.setter
    def observer(self, observer: Observer | None) -> None:
        self._observer = self._arrivals.reduction.observer = observer

    def agreed(
        self, plan: Mapping[str, Any] | BucketPlan | PythonPlan | None, *others: object
    ) -> BucketPlan:
        """Read and check a plan that all ranks have, and that the ``others`` are the same on all.

        None is the plan of who has none.

        Raises
        ------
        UnusablePlan
            When it is not of this model, with all differences.
        RuntimeError
            When the ranks' plans, models or ``others`` differ.
        """
        sizes = [(name, p.numel() * p.element_size()) for name, p in self._known.items()]
        return agreed_plan(
            reversed_buckets(sizes) if plan is None else plan,
            dict(sizes),
            self._module,
            (*self._options, *others),
            self.ranks,
            self.process_group,
        )

    def use(self, plan: BucketPlan, window: int | None = None) -> None:
        """Begin to use a plan that all ranks have; the window stays where it is None."""
        if window is not None:
            if window not in self._transports:
                own = PrivateGroup(self.process_group, window=window, timeout=self._timeout)
                self._transports[window] = own
            self.window, self.transport = window, self._transports[window]
        reduction = Reduction(plan, self._known, self.transport, self.ranks, self._wire)
        reduction.observer, reduction.order = self._observer, self._order
        self._arrivals.use(reduction)
        self._steps.use(reduction.homes)

    def compress(self, wire: torch.dtype | None) -> None:
        """Send gradients in another type of numbers from here on; None is their own."""
        plan = self.agreed(self.plan, wire)
        self._wire = wire
        self.use(plan)

    def watch_order(self, steps: int) -> None:
        """Compare the order of all collectives of the next steps over all ranks."""
        self._order = order_beside(getattr(self.transport, "group", None), steps)
        self._arrivals.reduction.order = self._order

    def check_order(self) -> None:
        """Compare the order of a step that is over, where that is to be done."""
        if self._order is not None:
            check_order(self._order, self.process_group)
            if self._order.steps == 0:
                self._order = self._arrivals.reduction.order = None
