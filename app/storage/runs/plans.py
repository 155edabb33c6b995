"""The plans of runs: taken over at a step, found."""

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select

from app.errors import InvalidRequest, NotFound
from app.limits import MAX_RUN_PLANS
from app.storage import audit
from app.storage.clock import now
from app.storage.database import Store
from app.storage.runs.rows import RunRecord, change, of_id
from app.storage.tables import RunPlanRow
from solver.codes import FaultCode
from solver.errors import Fault


@dataclass(frozen=True, slots=True)
class NewPlan:
    """A plan as it is taken over.

    Attributes
    ----------
    from_step
        The first step that it is executed in.
    why
        Why it is.
    plan_id
        What it was named by, if it was.
    predicted_us
        What a step should take [us].
    buckets, launches
        How many it has.
    request
        What to simulate it with, as JSON text.
    """

    from_step: int
    why: str
    plan_id: str | None
    predicted_us: float
    buckets: int
    launches: int
    request: str


@dataclass(frozen=True, slots=True)
class RunPlanRecord(NewPlan):
    """A plan of a run, at its place among them; ``request`` is left out of lists."""

    index: int
    created_at: str


def put(connection: Connection, run: int, place: int, plan: NewPlan) -> None:
    """Keep a plan of a run."""
    values = {"run": run, "place": place, "created_at": now(), **asdict(plan)}
    connection.execute(insert(RunPlanRow).values(values))


def take_over(store: Store, run_id: str, plan: NewPlan) -> int:
    """Keep another plan of a run, and return its place; the same one again is kept once.

    Raises
    ------
    InvalidRequest
        When it begins before a step that was reported, or no later than another plan.
    NotFound, RunEnded
        When there is no such run, or it has ended.
    """
    with store.writing() as connection:
        run = of_id(connection, run_id, store.caller)
        last = _find(connection, run, run.plans - 1)
        if last == RunPlanRecord(**asdict(plan), index=last.index, created_at=last.created_at):
            return last.index
        if faults := _faults(run, last, plan):
            raise InvalidRequest(faults)
        change(connection, run, plans=run.plans + 1)
        put(connection, run.number, run.plans, plan)
        audit.note(connection, store.caller, "take over", "run", run_id)
        return run.plans


def get(store: Store, run_id: str, place: int) -> RunPlanRecord:
    """Return a plan of a run, or raise NotFound."""
    with store.reading() as connection:
        return _find(connection, of_id(connection, run_id, store.caller), place)


def last_request(store: Store, run_id: str) -> tuple[RunRecord, str]:
    """Return a run, and what to simulate its last plan with, or raise NotFound."""
    with store.reading() as connection:
        run = of_id(connection, run_id, store.caller)
        return run, _find(connection, run, run.plans - 1).request


def listed(connection: Connection, run: RunRecord) -> list[RunPlanRecord]:
    """Return the plans of a run in order, without their requests."""
    light = [column for column in RunPlanRow.__table__.columns if column.key != "request"]
    query = select(*light).where(RunPlanRow.run == run.number).order_by(RunPlanRow.place)
    return [_plan(row, "") for row in connection.execute(query).mappings()]


def _find(connection: Connection, run: RunRecord, place: int) -> RunPlanRecord:
    which = (RunPlanRow.run == run.number, RunPlanRow.place == place)
    row = connection.execute(select(RunPlanRow.__table__).where(*which)).mappings().first()
    if row is None:
        raise NotFound(f"The run has no plan {place}.")
    return _plan(row, row["request"])


def _plan(row: RowMapping, request: str) -> RunPlanRecord:
    values: dict[str, Any] = {**row, "request": request}
    del values["run"]
    return RunPlanRecord(index=values.pop("place"), **values)


def _faults(run: RunRecord, last: RunPlanRecord, plan: NewPlan) -> list[Fault]:
    faults = []
    reached = max(last.from_step, -1 if run.last_step is None else run.last_step)
    if plan.from_step <= reached:
        detail = (
            f"The run has come to step {reached:,}, under another plan; from_step must be later, "
            f"got {plan.from_step:,}."
        )
        faults.append(Fault("/from_step", FaultCode.OUT_OF_RANGE, detail))
    if run.plans == MAX_RUN_PLANS:
        detail = f"The run has {MAX_RUN_PLANS:,} plans, the most that one may have."
        faults.append(Fault("", FaultCode.OUT_OF_RANGE, detail))
    return faults
