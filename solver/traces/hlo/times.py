"""How long each instruction takes: as given, else by a roofline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces.hlo.devices import Device
from solver.traces.hlo.module import HloModule
from solver.traces.hlo.program import ProgramOp
from solver.traces.hlo.work import Roofline
from solver.traces.sentences import counted

#: So many instructions without a time are named.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class InstructionTimes:
    """Times by the id of an op [us].

    Attributes
    ----------
    of_compute
        Of all that computes.
    of_launches
        Of collectives, where they are given.
    given
        How many of what computes are given.
    opaque
        Custom calls of unknown work, whose bytes count alone.
    """

    of_compute: Mapping[str, float]
    of_launches: Mapping[str, float]
    given: int
    opaque: tuple[str, ...]


def times_of(
    ops: Sequence[ProgramOp], module: HloModule, given: Mapping[str, float], device: Device | None
) -> InstructionTimes:
    """Return what the ops of a program take.

    Parameters
    ----------
    given
        By the name of an instruction [us], of a collective in two parts of its start.
    device
        For those that are not given; None where all must be.

    Raises
    ------
    InvalidTrace
        When nothing tells how long some take.
    """
    roofline = None if device is None else Roofline(module, device)
    compute: dict[str, float] = {}
    launches: dict[str, float] = {}
    missing: list[str] = []
    known = 0
    for op in ops:
        if op.one is None:
            compute[op.id] = 0.0
        elif op.sent is not None:
            if op.one.name in given:
                launches[op.id] = given[op.one.name]
        elif op.one.name in given:
            compute[op.id] = given[op.one.name]
            known += 1
        else:
            time = None if roofline is None else roofline.time(op.one, op.within)
            if time is None:
                missing.append(op.one.name)
            else:
                compute[op.id] = round(time, 6)
    missing = list(dict.fromkeys(missing))
    if missing:
        names = ", ".join(map(repr, missing[:_NAMED]))
        more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
        why = (
            "the times that were given lack them: give a device as well (--device)"
            if device is None
            else "they are loops of unknown length: give their times"
        )
        detail = f"No time of {counted(len(missing), 'instruction')}, {names}{more}; {why}."
        raise InvalidTrace([Fault("", FaultCode.NO_TIMES, detail)])
    opaque = () if roofline is None else tuple(roofline.opaque)
    return InstructionTimes(compute, launches, known, opaque)
