"""What is wrong with profiled steps, also where only some of them can be read."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.errors import within
from app.limits import MAX_PROFILED_STEPS, MAX_STEP_EDGES
from app.schemas.profiled_steps import ProfiledStepBody
from solver.codes import FaultCode
from solver.errors import Fault, InvalidSteps
from solver.limits import MAX_FAULTS_SOUGHT
from solver.parameter_server.steps import ServerStep, build_step, servers_of


def step_faults(bodies: Sequence[ProfiledStepBody]) -> list[Fault]:
    """List what the solver finds in steps that fit the schema; of each alone, then of all."""
    edges = sum(len(op.after) for body in bodies for op in body.ops)
    if edges > MAX_STEP_EDGES:
        detail = f"Steps: at most {MAX_STEP_EDGES:,} edges are taken in all, got {edges:,}."
        return [Fault("/steps", FaultCode.OUT_OF_RANGE, detail)]
    steps: list[ServerStep] = []
    faults: list[Fault] = []
    for i, body in enumerate(bodies):
        try:
            steps.append(build_step(body.ops_of()))
        except InvalidSteps as error:
            faults += within(f"steps/{i}", error.faults)
        if len(faults) >= MAX_FAULTS_SOUGHT and i + 1 < len(bodies):
            detail = (
                f"Steps: the first {i + 1:,} of {len(bodies):,} have {len(faults):,} faults; the "
                "others were not looked at."
            )
            return [*faults, Fault("/steps", FaultCode.TOO_MANY_FAULTS, detail)]
    return faults or list(_server_faults(steps))


def readable_step_faults(raw: Any, shape: Sequence[Fault]) -> list[Fault]:
    """List what the solver finds in the steps that fit, of a body that does not fit as a whole."""
    steps = raw.get("steps") if isinstance(raw, dict) else None
    bad = {tuple(fault.pointer.split("/")[1:3]) for fault in shape}
    if not isinstance(steps, list) or ("steps",) in bad or len(steps) > MAX_PROFILED_STEPS:
        return []
    fit = [i for i in range(len(steps)) if ("steps", str(i)) not in bad]
    found = step_faults([ProfiledStepBody.model_validate(steps[i]) for i in fit])
    return [_moved(fault, fit) for fault in found]


def _server_faults(steps: Sequence[ServerStep]) -> Iterator[Fault]:
    if not steps:
        return
    try:
        servers_of(steps)
    except InvalidSteps as error:
        yield from within("steps", error.faults)


def _moved(fault: Fault, places: Sequence[int]) -> Fault:
    """Point at the place of a step in the body, where others stand between."""
    match fault.pointer.split("/"):
        case ["", "steps", step, *rest]:
            place = "/".join(["", "steps", str(places[int(step)]), *rest])
            return Fault(place, fault.code, fault.detail)
    return fault
