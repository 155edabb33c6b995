"""From what all ranks saw to a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace_client.torch.capture.iteration import iteration_of
from interlace_client.torch.capture.notes import notes_of_all
from interlace_client.torch.capture.recording import Recording
from interlace_client.torch.capture.spans import slowest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.capture.ranks import RankRecord


def recording_of(records: Sequence[RankRecord]) -> Recording:
    """Make a recording of what ranks saw that have the same tensors, modules and passes."""
    made, first = iteration_of(records), records[0]
    names = [tensor.name for tensor in first.tensors]
    unknown = tuple(names[i] for i in made.unknown)
    unused = tuple(names[i] for i in made.unused)
    uses = {
        name: tuple(first.modules[m] for m in made.uses.get(i, (0,)))
        for i, name in enumerate(names)
    }
    notes = [*notes_of_all(records)]
    if unknown:
        notes.append(
            f"No use of {_listed(unknown)} was seen in the model's forward pass: taken to be "
            "needed from its start on."
        )
    if unused:
        notes.append(
            f"{_listed(unused)} had no gradient in some steps: taken to be released at the end "
            "of the backward pass."
        )
    return Recording(
        graph={"name": "captured", "ops": list(made.ops)},
        tensors=first.tensors,
        ready_order=tuple(names[i] for i in made.ready),
        first_uses=uses,
        unknown=unknown,
        unused=unused,
        step_us=slowest(records, lambda cycle: cycle.compute_us + cycle.waited_us) or 0.0,
        waited_us=slowest(records, lambda cycle: cycle.waited_us) or 0.0,
        backward_us=slowest(records, lambda cycle: cycle.backward_us) or 0.0,
        update_us=slowest(records, lambda cycle: cycle.update_us) or 0.0,
        forward_us=slowest(records, lambda cycle: cycle.forward_us) or 0.0,
        spread_us=made.spread_us,
        passes=first.cycles[0].passes,
        cycles=min(len(record.cycles) for record in records),
        ranks=len(records),
        compute_slowdown=None,
        launch_slowdown=None,
        notes=tuple(notes),
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"  # noqa: PLR2004
