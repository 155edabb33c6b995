"""What there is to say about a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace_client.torch.capture.spans import slowest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.capture.anatomy import Anatomy
    from interlace_client.torch.capture.ranks import RankRecord

#: From this share of a step on it is worth a note what lies before the optimizer's step.
_WORTH = 0.01


def notes_of(
    anatomy: Anatomy, *, left_out: int, has_optimizer: bool, is_host: bool
) -> tuple[str, ...]:
    """Say what a rank assumed and what it could not see.

    Parameters
    ----------
    anatomy
        Of the model.
    left_out
        How many are not counted, since they have another number of backward passes.
    has_optimizer
        Whether the optimizer's steps were watched.
    is_host
        Whether the times are those of the CPU.
    """
    said = [
        f"{_module(anatomy.modules[i][0])} runs as one, compiled: its parameters are needed where "
        "it begins."
        for i in sorted(anatomy.opaque)
    ]
    device = anatomy.parameters[0][1].device.type
    if is_host and device != "cpu":
        said.append(f"The times are those of the host, not of the device ({device}).")
    if not has_optimizer:
        said.append("No optimizer was given: its step counts with what lies between the passes.")
    if left_out:
        said.append(
            f"{left_out} steps with another number of backward passes are left out, or had their "
            "optimizer's step skipped."
        )
    return tuple(said)


def notes_of_all(records: Sequence[RankRecord]) -> tuple[str, ...]:
    """Say what is seen in the times of all ranks, after what each has to say."""
    said = list(dict.fromkeys(note for record in records for note in record.notes))
    passes = records[0].cycles[0].passes
    if passes > 1:
        said.append(
            f"A step has {passes} backward passes: communication hides behind the last, the "
            f"{passes - 1} before it are compute ahead of it."
        )
    if records[0].wrapper is not None:
        waited = slowest(records, lambda cycle: cycle.waited_us) or 0.0
        said.append(
            f"{records[0].wrapper} communicated meanwhile, unless it was told not to. {waited:.0f} "
            "us of a step were seen to be waiting for it, and are left out; compute beside "
            "communication may have taken longer than alone."
        )
    held = slowest(records, lambda cycle: cycle.held_us) or 0.0
    if held > _WORTH * (slowest(records, lambda cycle: cycle.compute_us) or 0.0):
        said.append(
            f"{held:.0f} us of a step lie between the backward pass and the optimizer's step. If "
            "all gradients are needed there (to clip their norm, to unscale them), plan with a "
            "barrier."
        )
    return tuple(said)


def _module(name: str) -> str:
    return f"Module {name!r}" if name else "The model"
