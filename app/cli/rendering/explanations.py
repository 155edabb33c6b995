"""What limits an iteration, which tensors are exposed, and what an answer rests on."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.cli.rendering.figures import counted
from app.cli.rendering.page import Line
from app.cli.rendering.tables import shortened, time, times
from app.schemas.explanations import CostWarning
from solver.evidence.evidence import Evidence
from solver.wording import ms

if TYPE_CHECKING:
    from app.schemas.changes import ChangeBody
    from app.schemas.plans import PlanAnswer, WhatIf
    from app.schemas.simulations import SimulatedWhatIf, SimulationAnswer

#: How many exposed tensors are listed.
_EXPOSED = 5


def limits(answer: "PlanAnswer | SimulationAnswer") -> Iterator[Line]:
    """Say what limits the iteration, and which tensors are exposed."""
    if answer.summary is None or answer.tensors is None:
        yield "Too many ops to explain"
        return
    yield answer.summary
    exposed = [tensor for tensor in answer.tensors if tensor.exposed_us > 0]
    exposed.sort(key=lambda tensor: -tensor.exposed_us)
    if exposed:
        total = sum(tensor.exposed_us for tensor in exposed)
        count = counted(len(exposed), "tensor")
        yield f"Sent while nothing computes: {count}, {ms(total)}"
    listed = exposed[:_EXPOSED]
    rows = [
        time(name, tensor.exposed_us, f"{tensor.bytes / 1e6:.3f} MB")
        for name, tensor in zip(shortened([each.id for each in listed]), listed, strict=True)
    ]
    if rows:
        yield times(rows)
    if (other := answer.what_if) is not None:
        yield from what_if(other, answer.request.what_if)


def what_if(
    other: "WhatIf | SimulatedWhatIf", changes: Sequence["ChangeBody"], peak: str = ""
) -> Iterator[Line]:
    """Say what was changed, and how long the changed iteration takes."""
    yield f"With ops changed ({'; '.join(change.said() for change in changes)}):"
    gain = f"{'saves' if other.gain_us >= 0 else 'costs'} {abs(other.gain_us) / 1e3:.3f} ms"
    remark = ", ".join(filter(None, [peak, f"with the ops changed: {gain}"]))
    yield times([time("what if", other.iteration_time_us, remark)])


def cuts(warned: Sequence[CostWarning]) -> Iterator[str]:
    """Say first what a watchdog cut: nothing of the answer is sure to be the same again."""
    yield from (each.detail for each in warned if each.code == "search_cut_short")


def rests_on(evidence: Evidence | None) -> Sequence[str]:
    """Return what was measured, in sentences; none where nothing was."""
    return () if evidence is None else evidence.sentences


def recorded(evidence: Evidence | None) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of a recorded step: measured, and simulated as you run it."""
    if evidence is not None and evidence.recorded_us is not None:
        yield time("as recorded", evidence.recorded_us, "measured")
    if evidence is not None and evidence.recorded_simulated_us is not None:
        remark = "as you run it, with the costs of this cluster"
        yield time("as recorded, simulated", evidence.recorded_simulated_us, remark)


def warnings(warned: Sequence[CostWarning]) -> Iterator[str]:
    """Say what an answer rests on that was not measured."""
    yield from (f"Warning: {warning.detail}" for warning in warned)
