"""Gradient buckets of a plan, all-reduced while the backward pass runs.

Call ``torch.distributed.init_process_group`` first. The model stays as it is: no wrapper::

    reducer = Buckets(model)  # in place of DistributedDataParallel(model)
    for batch in loader:
        loss_of(model, batch).backward()
        reducer.wait()  # before unscaling, clipping and the optimizer's step
        optimizer.step()
        optimizer.zero_grad()

Micro-batches whose gradients are added up are sent with the last of them::

    with reducer.no_sync():
        for micro_batch in micro_batches[:-1]:
            loss_of(model, micro_batch).backward()
    loss_of(model, micro_batches[-1]).backward()
    reducer.wait()

All workers make the same calls. PyTorch 2.1 has all that is used; tested is 2.13.
"""

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

#: Names of parameters by bucket, in the order in which the buckets are sent.
BUCKETS = [["parameter"]]

#: What marks a parameter as one of Buckets.
_OWNER = "_planned_buckets"
#: How many names an error gives.
_NAMED = 5


class Buckets:
    """Averages gradients over all workers, bucket by bucket, strictly in the order of BUCKETS.

    The averages are those of DistributedDataParallel: each worker's gradient times 1 / workers,
    then the sum. Parameters and buffers are worker 0's from the start.

    Parameters
    ----------
    model
        The module; all its parameters that need a gradient are in BUCKETS, and no others.
    group
        The process group; None is the default one.
    find_unused_parameters
        Whether a pass may leave parameters without a gradient, which then count as zeros. What no
        worker used keeps its gradient as it is. Buckets behind such a parameter go in ``wait``.
    broadcast_buffers
        Whether buffers become worker 0's before a forward pass that follows a step.
    gradient_as_bucket_view
        Whether gradients become views of the buckets: less memory and no copy.

    Raises
    ------
    TypeError
        When the model is in a DistributedDataParallel already.
    ValueError
        When BUCKETS and the model's parameters are not the same, with all differences.
    RuntimeError
        When other Buckets hold the model, or when the workers' plans or models differ.
    """

    def __init__(
        self,
        model: nn.Module,
        group: Any = None,
        *,
        find_unused_parameters: bool = False,
        broadcast_buffers: bool = True,
        gradient_as_bucket_view: bool = False,
    ) -> None:
        if isinstance(model, DistributedDataParallel):
            raise TypeError("Give the module itself: DistributedDataParallel sends gradients too.")
        buckets, self._names = _planned(model)
        _compare_workers(model, group)
        self._model = model
        self._group = group
        self._find_unused = find_unused_parameters
        self._as_view = gradient_as_bucket_view
        self._parameters = [parameter for bucket in buckets for parameter in bucket]
        self._buckets = [_with_views(bucket) for bucket in buckets]
        self._share = 1.0 / dist.get_world_size(group)
        self._is_syncing = True
        self._is_step_behind = True
        self._is_used = [False] * len(self._parameters)
        self._reset()
        for tensor in [*model.parameters(), *model.buffers()]:
            self._take_from_first(tensor)
        self._hooks = []
        homes = [number for number, bucket in enumerate(buckets) for _ in bucket]
        for place, (parameter, home) in enumerate(zip(self._parameters, homes, strict=True)):
            setattr(parameter, _OWNER, True)
            ready = partial(self._ready, place, home)
            self._hooks.append(parameter.register_post_accumulate_grad_hook(ready))
        if broadcast_buffers and next(model.buffers(), None) is not None:
            # a function, since copies of the model keep it as it is
            before_forward = lambda module, _: self._before_forward(module)
            self._hooks.append(model.register_forward_pre_hook(before_forward))

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add gradients up without sending them; wrap forward and backward passes."""
        before, self._is_syncing = self._is_syncing, False
        try:
            yield
        finally:
            self._is_syncing = before

    def wait(self) -> None:
        """Wait for all buckets and put the averages in place.

        Raises
        ------
        RuntimeError
            Inside ``no_sync``; when a parameter has no gradient, unless unused ones are expected.
        """
        if not self._is_syncing:
            raise RuntimeError("wait() in no_sync(): nothing was sent; call it after the last one.")
        missing = [n for n, ready in zip(self._names, self._is_ready, strict=True) if not ready]
        if missing and not self._find_unused:
            raise RuntimeError(
                f"{len(missing)} of {len(self._names)} parameters got no gradient since the last "
                f"wait(): {_some(missing)}. If the loss may leave some unused, set "
                "find_unused_parameters=True; those that are frozen do not belong in the plan."
            )
        while len(self._works) < len(self._buckets):
            self._send()
        is_used = self._used_by_any()
        for work in self._works:
            work.wait()
        views = (view for _, _, bucket_views in self._buckets for view in bucket_views)
        for parameter, view, used in zip(self._parameters, views, is_used, strict=True):
            if not used:
                continue
            if self._as_view:
                parameter.grad = view
            elif parameter.grad is None:
                parameter.grad = view.clone()
            else:
                parameter.grad.detach().copy_(view)
        self._is_used = [False] * len(self._parameters)
        self._reset()

    def remove(self) -> None:
        """Take the hooks off the model, for example to give it another plan's buckets."""
        for hook in self._hooks:
            hook.remove()
        for parameter in self._parameters:
            if hasattr(parameter, _OWNER):
                delattr(parameter, _OWNER)

    def _reset(self) -> None:
        self._is_ready = [False] * len(self._parameters)
        self._missing = [len(parameters) for parameters, _, _ in self._buckets]
        self._works: list[Any] = []

    def _ready(self, place: int, home: int, parameter: torch.Tensor) -> None:
        """Count a gradient that is ready, and send what is complete, in order."""
        if self._is_ready[place]:
            raise RuntimeError(
                f"{self._names[place]!r} got a second gradient, and the first may be on its way. "
                "Call wait() after each backward pass; to add gradients up, do all but the last "
                "backward pass in no_sync(). Checkpoints inside need use_reentrant=False."
            )
        if parameter.grad.layout != torch.strided:
            raise RuntimeError(
                f"{self._names[place]!r} has a sparse gradient; buckets hold dense ones."
            )
        self._is_used[place] = True
        if not self._is_syncing:
            return
        self._is_ready[place] = True
        self._missing[home] -= 1
        while len(self._works) < len(self._buckets) and not self._missing[len(self._works)]:
            self._send()

    def _send(self) -> None:
        """Start the all-reduce of the next bucket."""
        parameters, flat, views = self._buckets[len(self._works)]
        for parameter, view in zip(parameters, views, strict=True):
            if parameter.grad is None:
                view.zero_()
            else:
                torch.mul(parameter.grad.detach(), self._share, out=view)
        self._works.append(dist.all_reduce(flat, group=self._group, async_op=True))

    def _used_by_any(self) -> list[bool]:
        """Tell of each parameter whether any worker has used it since the last wait."""
        if not self._find_unused:
            return self._is_used
        used = torch.tensor(self._is_used, dtype=torch.int32, device=self._parameters[0].device)
        dist.all_reduce(used, group=self._group)
        return [count > 0 for count in used.tolist()]

    def _before_forward(self, module: nn.Module) -> None:
        """Take worker 0's buffers where DistributedDataParallel does."""
        if module is not self._model:  # a copy, as for an average of the weights
            return
        if self._is_step_behind:
            for buffer in module.buffers():
                self._take_from_first(buffer)
        self._is_step_behind = torch.is_grad_enabled() and self._is_syncing

    def _take_from_first(self, tensor: torch.Tensor) -> None:
        first = 0 if self._group is None else dist.get_global_rank(self._group, 0)
        whole = tensor.detach().contiguous()
        dist.broadcast(whole, src=first, group=self._group)
        tensor.detach().copy_(whole)


def _planned(model: nn.Module) -> tuple[list[list[nn.Parameter]], list[str]]:
    """Find the parameters of each bucket; also return their names, in the same order.

    A bucket of several types is sent as one bucket a type.
    """
    known = {
        name.replace("_orig_mod.", ""): parameter  # of torch.compile
        for name, parameter in model.named_parameters(remove_duplicate=False)
    }
    planned = [name for bucket in BUCKETS for name in bucket]
    asked = Counter(id(known[name]) for name in planned if name in known)
    wrong = {
        "not in the model": [n for n in planned if n not in known],
        "without requires_grad, so never with a gradient": [
            n for n in planned if n in known and not known[n].requires_grad
        ],
        "more than once in the plan, by one name or by several": [
            n for n in planned if n in known and asked[id(known[n])] > 1
        ],
        "in the model, and not in the plan": [
            n.replace("_orig_mod.", "")
            for n, p in model.named_parameters()
            if p.requires_grad and id(p) not in asked
        ],
    }
    if any(wrong.values()):
        faults = "; ".join(f"{rule}: {_some(names)}" for rule, names in wrong.items() if names)
        raise ValueError(f"The plan's parameters are not the model's. {faults}.")
    taken = [name for name in planned if hasattr(known[name], _OWNER)]
    if taken:
        raise RuntimeError(f"Other Buckets send {_some(taken)}; call their remove() first.")
    if len({known[name].device for name in planned}) > 1:
        raise ValueError("The model's parameters are on several devices; buckets are on one.")
    by_type: dict[tuple[int, torch.dtype], list[str]] = {}
    for number, bucket in enumerate(BUCKETS):
        for name in bucket:
            by_type.setdefault((number, known[name].dtype), []).append(name)
    if len(by_type) > len(BUCKETS):
        detail = f"{len(BUCKETS)} buckets hold several types, and are sent as {len(by_type)}."
        warnings.warn(detail, stacklevel=3)
    buckets = [[known[name] for name in names] for names in by_type.values()]
    return buckets, [name for names in by_type.values() for name in names]


def _with_views(
    parameters: list[nn.Parameter],
) -> tuple[list[nn.Parameter], torch.Tensor, list[torch.Tensor]]:
    """Make a bucket's memory, and a view of it for each gradient, laid out as the parameter."""
    flat = torch.zeros(
        sum(parameter.numel() for parameter in parameters),
        dtype=parameters[0].dtype,
        device=parameters[0].device,
    )
    views, begin = [], 0
    for parameter in parameters:
        strides = torch.empty_like(parameter, device="meta").stride()
        views.append(flat.as_strided(parameter.shape, strides, begin))
        begin += parameter.numel()
    return parameters, flat, views


def _compare_workers(model: nn.Module, group: Any) -> None:
    """Check that all workers have the same plan and the same shapes."""
    shapes = [(name, tuple(p.shape), str(p.dtype)) for name, p in model.named_parameters()]
    mine = hashlib.sha256(repr((BUCKETS, shapes)).encode()).hexdigest()
    all_of_them = [mine] * dist.get_world_size(group)
    dist.all_gather_object(all_of_them, mine, group=group)
    others = [rank for rank, theirs in enumerate(all_of_them) if theirs != all_of_them[0]]
    if others:
        raise RuntimeError(f"Workers {others} have another plan or model than worker 0.")


def _some(names: list[str]) -> str:
    """Name the first few."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(repr, names[:_NAMED])) + more
