"""The steps of runs: reported, told."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from sqlalchemy import Connection, insert, select

from app.codes import ServiceFaultCode
from app.errors import InvalidRequest
from app.limits import MAX_RUN_STEPS
from app.schemas.runs import RunStep, RunStepBody, StepsReceipt
from app.storage import audit
from app.storage.database import Store
from app.storage.runs.plans import RunPlanRecord, listed
from app.storage.runs.rows import RunRecord, change, of_id
from app.storage.tables import RunStepRow
from solver.codes import FaultCode
from solver.errors import Fault

#: So many rows are read at a time.
_AT_ONCE = 10_000


_FIGURES = (RunStepRow.step, RunStepRow.plan, RunStepRow.measured_us, RunStepRow.predicted_us)


def report(store: Store, run_id: str, steps: Sequence[RunStepBody]) -> StepsReceipt:
    """Keep steps, given in ascending order; those that were reported alike before once.

    Raises
    ------
    InvalidRequest
        When one was reported before with other figures, or another plan was in use.
    NotFound, RunEnded
        When there is no such run, or it has ended and a step is new.
    """
    with store.writing() as connection:
        run = of_id(connection, run_id, store.caller)
        known = {each.step: each for each in _some(connection, run, [s.step for s in steps])}
        plans = listed(connection, run)
        new, faults = [], list[Fault]()
        for i, each in enumerate(steps):
            if (fault := _fault(i, each, plans, known)) is not None:
                faults.append(fault)
            elif each.step not in known:
                new.append({"run": run.number, **_kept(each, plans).model_dump()})
        total = run.steps + len(new)
        if total > MAX_RUN_STEPS:
            detail = f"The run would have {total:,} steps; at most {MAX_RUN_STEPS:,} are kept."
            faults.append(Fault("/steps", FaultCode.OUT_OF_RANGE, detail))
        if faults:
            raise InvalidRequest(faults)
        if new:
            latest = max(new[-1]["step"], run.last_step or 0)
            change(connection, run, steps=total, last_step=latest)
            connection.execute(insert(RunStepRow), new)
            audit.note(connection, store.caller, "report", "run", run_id)
        return StepsReceipt(stored=len(new), known=len(steps) - len(new), steps=total)


def page(store: Store, run_id: str, *, after: int | None, limit: int) -> list[RunStep]:
    """Return steps in ascending order: with numbers above one."""
    with store.reading() as connection:
        run = of_id(connection, run_id, store.caller)
        query = select(RunStepRow.__table__).where(RunStepRow.run == run.number)
        if after is not None:
            query = query.where(RunStepRow.step > after)
        rows = connection.execute(query.order_by(RunStepRow.step).limit(limit))
        return [RunStep(**row) for row in rows.mappings()]


def reported(store: Store, run_id: str) -> tuple[RunRecord, list[RunPlanRecord], np.ndarray]:
    """Return a run, its plans, and of its steps in ascending order the figures.

    Returns
    -------
    tuple
        The figures are of shape (4, n): step, place of its plan, measured and predicted time [us].
    """
    with store.reading() as connection:
        run = of_id(connection, run_id, store.caller)
        which = select(*_FIGURES).where(RunStepRow.run == run.number)
        query = which.order_by(RunStepRow.step).execution_options(yield_per=_AT_ONCE)
        flat = np.fromiter(chain.from_iterable(connection.execute(query)), float)
        return run, listed(connection, run), flat.reshape(-1, len(_FIGURES)).T


def some(store: Store, run: RunRecord, numbers: Sequence[int]) -> list[RunStep]:
    """Return those steps of a run that have these numbers, in ascending order."""
    with store.reading() as connection:
        return _some(connection, run, numbers)


def _some(connection: Connection, run: RunRecord, numbers: Sequence[int]) -> list[RunStep]:
    which = (RunStepRow.run == run.number, RunStepRow.step.in_(numbers))
    query = select(RunStepRow.__table__).where(*which).order_by(RunStepRow.step)
    return [RunStep(**row) for row in connection.execute(query).mappings()]


def _kept(each: RunStepBody, plans: Sequence[RunPlanRecord]) -> RunStep:
    """Return a step as it is kept: without a prediction it has that of its plan."""
    predicted = each.predicted_us
    if predicted is None:
        predicted = plans[each.plan].predicted_us
    return RunStep(**{**each.model_dump(), "predicted_us": predicted})


def _fault(
    i: int, each: RunStepBody, plans: Sequence[RunPlanRecord], known: Mapping[int, RunStep]
) -> Fault | None:
    """Say why a step cannot be kept."""
    if each.plan >= len(plans):
        detail = f"Step {each.step:,}: the run has {len(plans):,} plans, none at {each.plan:,}."
        return Fault(f"/steps/{i}/plan", ServiceFaultCode.UNKNOWN_PLAN, detail)
    in_use = bisect_right(plans, each.step, key=lambda plan: plan.from_step) - 1
    if each.plan != in_use:
        detail = f"Step {each.step:,}: plan {in_use:,} is in use there, not plan {each.plan:,}."
        return Fault(f"/steps/{i}/plan", FaultCode.OUT_OF_RANGE, detail)
    if each.step in known and known[each.step] != _kept(each, plans):
        detail = f"Step {each.step:,} was reported before, with other figures."
        return Fault(f"/steps/{i}", ServiceFaultCode.STEP_REPORTED, detail)
    return None
