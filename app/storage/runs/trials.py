"""The trials of runs: reported, told."""

import json

from sqlalchemy import Connection, insert, select

from app.codes import ServiceFaultCode
from app.errors import InvalidRequest
from app.limits import MAX_RUN_TRIALS
from app.schemas.runs import RunTrial, RunTrialBody
from app.storage import audit
from app.storage.clock import now
from app.storage.database import Store
from app.storage.runs.rows import RunRecord, change, of_id
from app.storage.tables import RunTrialRow
from solver.codes import FaultCode
from solver.errors import Fault


def report(store: Store, run_id: str, trial: RunTrialBody) -> RunTrial:
    """Keep what a trial came to; the same one again is kept once.

    Raises
    ------
    InvalidRequest
        When another one was reported for the same step, or the run has as many as it may.
    NotFound, RunEnded
        When there is no such run, or it has ended.
    """
    with store.writing() as connection:
        run = of_id(connection, run_id, store.caller)
        known = {each.before_step: each for each in _listed(connection, run)}
        if (before := known.get(trial.before_step)) is not None:
            if before == RunTrial.of(trial, created_at=before.created_at):
                return before
            detail = f"Another trial was reported before step {trial.before_step:,}."
            fault = Fault("/before_step", ServiceFaultCode.STEP_REPORTED, detail)
            raise InvalidRequest([fault])
        if len(known) == MAX_RUN_TRIALS:
            detail = f"The run has {MAX_RUN_TRIALS:,} trials, the most that one may have."
            raise InvalidRequest([Fault("", FaultCode.OUT_OF_RANGE, detail)])
        change(connection, run)
        text, moment = trial.model_dump_json(), now()
        values = {"before_step": trial.before_step, "created_at": moment, "trial": text}
        connection.execute(insert(RunTrialRow).values(run=run.number, **values))
        audit.note(connection, store.caller, "report trial", "run", run_id)
        return _told(text, moment)


def listed(store: Store, run: RunRecord) -> list[RunTrial]:
    """Return the trials of a run, in the order of their steps."""
    with store.reading() as connection:
        return _listed(connection, run)


def _listed(connection: Connection, run: RunRecord) -> list[RunTrial]:
    which = select(RunTrialRow.trial, RunTrialRow.created_at).where(RunTrialRow.run == run.number)
    rows = connection.execute(which.order_by(RunTrialRow.before_step))
    return [_told(row.trial, row.created_at) for row in rows]


def _told(trial: str, created_at: str) -> RunTrial:
    return RunTrial.model_validate({**json.loads(trial), "created_at": created_at})
