"""What each rank saw, brought together on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch.distributed as dist

from interlace_client.torch.capture.errors import RanksDiffer, Unrecorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.capture.cycles import Cycle
    from interlace_client.torch.capture.recording import Tensor


@dataclass(frozen=True)
class RankRecord:
    """What one rank saw.

    Parameters
    ----------
    tensors
        Its gradients, in order of registration.
    modules
        Names of its modules, the root first.
    uses
        Of each parameter that was seen to be used the modules that used it first, by position.
    cycles
        Its cycles, all with as many backward passes.
    notes
        What it has to say.
    wrapper
        What communicated meanwhile, None where nothing did.
    failure
        Why there is no recording, None when there is one.
    """

    tensors: tuple[Tensor, ...]
    modules: tuple[str, ...]
    uses: dict[int, tuple[int, ...]]
    cycles: tuple[Cycle, ...]
    notes: tuple[str, ...]
    wrapper: str | None
    failure: str | None


def gather(record: RankRecord, process_group: Any = None) -> list[RankRecord]:
    """Return the records of all ranks, in order of rank; this one alone without a process group.

    Every rank of the group calls it, one that has nothing to tell too, so that no rank waits.

    Raises
    ------
    Unrecorded, RanksDiffer
        As :func:`compare`, on all ranks.
    """
    records = [record]
    if dist.is_available() and dist.is_initialized():
        found: list[Any] = [None] * dist.get_world_size(process_group)
        dist.all_gather_object(found, record, group=process_group)
        records = found
    compare(records)
    return records


def compare(records: Sequence[RankRecord]) -> None:
    """Check that the records of the ranks, in order, can be merged.

    Raises
    ------
    Unrecorded
        Ranks have no recording.
    RanksDiffer
        Names, shapes or types of gradients, modules, or the number of passes differ.
    """
    failures = [f"Rank {rank}: {each.failure}" for rank, each in enumerate(records) if each.failure]
    if failures:
        raise Unrecorded(" ".join(failures))
    differences = [
        difference
        for rank, other in enumerate(records[1:], start=1)
        for difference in _differences(records[0], other, rank)
    ]
    if differences:
        raise RanksDiffer("The ranks train different models. " + " ".join(differences))


def _differences(first: RankRecord, other: RankRecord, rank: int) -> list[str]:
    """Say in which the model of a rank is another than that of rank 0."""
    ours = {tensor.name: tensor for tensor in first.tensors}
    theirs = {tensor.name: tensor for tensor in other.tensors}
    said = [f"Rank {rank} has no {name!r}." for name in ours if name not in theirs]
    said += [f"Rank {rank} has {name!r}, rank 0 has not." for name in theirs if name not in ours]
    said += [
        f"{name!r} is {_form(tensor)} on rank 0 and {_form(theirs[name])} on rank {rank}."
        for name, tensor in ours.items()
        if name in theirs and _form(tensor) != _form(theirs[name])
    ]
    if not said and list(ours) != list(theirs):
        said.append(f"Rank {rank} registers its parameters in another order than rank 0.")
    if not said and first.modules != other.modules:
        names = sorted(set(first.modules) ^ set(other.modules))
        said.append(f"Modules that rank 0 or rank {rank} alone has: {', '.join(map(repr, names))}.")
    passes = first.cycles[0].passes, other.cycles[0].passes
    if passes[0] != passes[1]:
        said.append(
            f"A step has {passes[0]} backward passes on rank 0 and {passes[1]} on rank {rank}."
        )
    return said


def _form(tensor: Tensor) -> str:
    shape = " x ".join(map(str, tensor.shape)) or "a number"
    return f"{shape} of {tensor.dtype}"


def union(records: Sequence[RankRecord]) -> dict[int, tuple[int, ...]]:
    """Return of each parameter the modules that use it first on any rank."""
    uses: dict[int, dict[int, None]] = {}
    for record in records:
        for parameter, modules in record.uses.items():
            uses.setdefault(parameter, {}).update(dict.fromkeys(modules))
    return {parameter: tuple(modules) for parameter, modules in sorted(uses.items())}
