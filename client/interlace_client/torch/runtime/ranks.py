"""What all ranks must have alike."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from typing import Any

import torch.distributed as dist
from torch import nn

from interlace_client.torch.plans import (
    BucketPlan,
    PythonPlan,
    UnusablePlan,
    check_parameters,
    posted,
    read_plan,
)
from interlace_client.torch.runtime.wrapping import shared_tensors
from interlace_client.torch.transport import Transport


def agreed_plan(
    plan: Mapping[str, Any] | BucketPlan | PythonPlan,
    sizes: Mapping[str, int],
    module: nn.Module,
    options: tuple[object, ...],
    ranks: int,
    process_group: Any = None,
) -> BucketPlan:
    """Read and check a plan that all ranks have, for the same model and with the same options.

    Parameters
    ----------
    plan
        A planner's answer, or what was read of one.
    sizes
        Bytes of each parameter that it is of, by name.
    ranks
        How many there are; of one alone nothing is compared.

    Raises
    ------
    UnusablePlan
        When it is not of this model, with all differences.
    RuntimeError
        When the ranks' plans, models or options differ.
    """
    fault = None
    found = posted(plan)
    try:
        read = found if isinstance(found, BucketPlan) else read_plan(found)
        check_parameters(read, sizes)
        mine = _digest_of(read, module, options)
    except UnusablePlan as error:
        fault, mine = error, str(error)
    if ranks > 1:
        try:
            _compare_ranks(mine, process_group)
        except RuntimeError as error:
            raise error from fault
    if fault:
        raise fault
    _warn_of_ranks(found, ranks)
    return read


def _digest_of(plan: BucketPlan, module: nn.Module, options: tuple[object, ...]) -> str:
    """Hash what must be the same on all ranks."""
    named = [*module.named_parameters(), *module.named_buffers()]
    model = [(name, tuple(x.shape), str(x.dtype), x.requires_grad) for name, x in named]
    return hashlib.sha256(f"{plan.digest} {model} {options}".encode()).hexdigest()


def _compare_ranks(digest: str, process_group: Any) -> None:
    """Check that all ranks have the same plan, the same model and the same options.

    Raises
    ------
    RuntimeError
        On all ranks, with those whose ``digest`` is not the first rank's.
    """
    digests: list[Any] = [None] * dist.get_world_size(process_group)
    dist.all_gather_object(digests, digest, group=process_group)
    others = [rank for rank, each in enumerate(digests) if each != digests[0]]
    if others:
        raise RuntimeError(
            f"Ranks {others} have another plan than rank 0, or another model: the plan, options, "
            "and names, shapes, types and order of parameters and buffers must be the same on all "
            "ranks."
        )


def take_from_first(module: nn.Module, transport: Transport) -> None:
    """Make parameters and buffers those of the first rank, but for those that DDP ignores."""
    for tensor in shared_tensors(module):
        whole = tensor.detach().contiguous()
        transport.broadcast(whole).wait()
        tensor.detach().copy_(whole)


def _warn_of_ranks(plan: Mapping[str, Any] | BucketPlan, ranks: int) -> None:
    """Say that a plan was made for other ranks, where its answer tells."""
    if isinstance(plan, BucketPlan) or ranks == 1:
        return
    workers = (plan.get("request") or {}).get("cluster", {}).get("workers")
    if workers not in {None, ranks}:
        warnings.warn(
            f"The plan was made for {workers} workers, and there are {ranks} ranks: launches take "
            "other times than it says.",
            stacklevel=6,
        )
