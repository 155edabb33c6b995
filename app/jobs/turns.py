"""Whose job is next: that of the team, and of its owner, who has used the least processor time.

Each team has a share of the machine, and each owner one of that of his team; an owner without a
team is one of his own. What their jobs used is added up in the database, and the next job is the
oldest of the owner that has used least of the team that has used least: deficit round robin [1]_
in its limit of small quanta, with the time that was used in the place of a length known before,
which no job has. Two shares that always have jobs waiting differ by no more than what their jobs
at work take, be they teams or owners of one team.

A share that has nothing queued or at work saves nothing: whoever comes takes what the least of
those who are there has used, if it has used less, as in start-time fair queueing [2]_; and where
nobody is, all begin anew. So nobody waits for what another saved up, nor for what was long ago. A
job at work counts as soon as it is claimed (:data:`_AT_WORK_S`), so that children which become
free together go to different shares. Of a job with a weight so many seconds count as one, for its
owner as for his team.

References
----------
.. [1] M. Shreedhar and G. Varghese, Efficient fair queuing using deficit round-robin, 1995.
.. [2] P. Goyal, H. Vin and H. Cheng, Start-time fair queueing, 1996.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.orm import aliased

from app.jobs.kinds import KINDS, QUEUES, SMALL
from app.jobs.rows import QUEUED, RUNNING
from app.operations.callers import Caller
from app.operations.shares import Head, in_order, joined, levels_of, share_of
from app.storage.database import Store
from app.storage.tables import JobRow, ShareRow

#: A job at work counts at least so much, whatever it has used by now [s].
_AT_WORK_S = 1.0


#: Small work that has taken more processor time is stopped, and waits as large work does [s].
SMALL_STOP_S = 3.0


_LANES = (SMALL, *QUEUES)


#: Shares that are deleted by one statement.
_AT_ONCE = 500


def share_for(caller: Caller | None) -> str:
    """Return the share of a caller; what is made while keys are off has one, too."""
    return "" if caller is None else share_of(caller.owner, caller.team)


def waiting(connection: Connection, lanes: Sequence[str]) -> list[Head]:
    """Return the heads of some lanes, the next first: a few looks at an index for each."""
    heads = [head for lane in lanes for head in _heads(connection, lane)]
    if len(heads) <= 1:
        return heads
    shares = {name for head in heads for name in levels_of(head.share)}
    rows = select(ShareRow.share, ShareRow.used_s).where(ShareRow.share.in_(shares))
    used = {row[0]: row[1] for row in connection.execute(rows)}
    least: ColumnElement[float] = case(
        (JobRow.spent_s < _AT_WORK_S, _AT_WORK_S), else_=JobRow.spent_s
    )
    counted = select(_share(), func.sum(least / JobRow.weight)).where(JobRow.state == RUNNING)
    at_work: dict[str, float] = {}
    for share, seconds in connection.execute(counted.group_by(_share())):
        for name in levels_of(share):
            at_work[name] = at_work.get(name, 0.0) + seconds
    return in_order(heads, used, at_work)


def queued(connection: Connection, kinds: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return how many jobs of some kinds each share has waiting, and their requests [bytes]."""
    columns = (_share(), func.count(), func.sum(JobRow.bytes))
    which = (JobRow.state == QUEUED, JobRow.kind.in_(kinds))
    rows = connection.execute(select(*columns).where(*which).group_by(_share()))
    return {share: (count, int(size or 0)) for share, count, size in rows}


def _heads(connection: Connection, lane: str) -> list[Head]:
    found = connection.execute(_HEADS, {"its_lane": lane})
    return [Head(lane, share, number) for share, number in found if number is not None]


def _share() -> ColumnElement[str]:
    return func.coalesce(JobRow.share, JobRow.owner, literal_column("''"))


def _walk() -> Select[Any]:
    """Walk over the shares of a lane, from each to the next: no more is read than there are."""
    here = (JobRow.state == QUEUED, JobRow.lane == bindparam("its_lane"))
    walk = select(func.min(JobRow.share).label("share")).where(*here).cte("walk", recursive=True)
    after = select(func.min(JobRow.share)).where(*here, JobRow.share > walk.c.share)
    walk = walk.union_all(
        select(after.correlate(walk).scalar_subquery()).where(walk.c.share.is_not(None))
    )
    oldest: ScalarSelect[int] = (
        select(func.min(JobRow.number))
        .where(*here, JobRow.share == walk.c.share)
        .correlate(walk)
        .scalar_subquery()
    )
    return select(walk.c.share, oldest).where(walk.c.share.is_not(None))


def _is_there(share: Any) -> ColumnElement[bool]:
    """Tell whether a share has something queued or at work."""
    job = aliased(JobRow)
    alive = (job.state.in_([QUEUED, RUNNING]), job.lane.in_(_LANES), job.share == share)
    return exists(select(job.number).where(*alive))


#: Made once: making them takes longer than asking.
_HEADS, _HERE = _walk(), select(_is_there(bindparam("its_share")))
_OTHERS = _is_there(ShareRow.share)


def join(connection: Connection, share: str) -> None:
    """Let a share wait, before its job is added; in a transaction that writes alone."""
    if connection.scalar(_HERE, {"its_share": share}):
        return
    found = connection.execute(select(ShareRow.share, ShareRow.used_s, _OTHERS)).all()
    there = {name for other, _, is_there in found if is_there for name in levels_of(other)}
    before = {other: float(used_s) for other, used_s, _ in found}
    after = dict(before)
    for name in levels_of(share):
        if name not in there:
            after = joined(after, name, there)
    gone = sorted(before.keys() - after.keys())
    for i in range(0, len(gone), _AT_ONCE):
        connection.execute(delete(ShareRow).where(ShareRow.share.in_(gone[i : i + _AT_ONCE])))
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")  # that in use
    for name in after.keys() - before.keys():
        new = dialect.insert(ShareRow).values(share=name, used_s=after[name])
        connection.execute(new.on_conflict_do_nothing())


def charge(connection: Connection, which: Sequence[ColumnElement[bool]]) -> None:
    """Add what jobs used to their shares; nothing more is charged of them then."""
    has_spent = (*which, JobRow.spent_s > 0)
    spent = (
        select(_share(), func.sum(JobRow.spent_s / JobRow.weight))
        .where(*has_spent)
        .group_by(_share())
    )
    found = connection.execute(spent.order_by(_share())).all()
    for share, seconds in found:
        more, its = ShareRow.used_s + seconds, ShareRow.share.in_(levels_of(share))
        connection.execute(update(ShareRow).where(its).values(used_s=more))
    if found:
        connection.execute(update(JobRow).where(*has_spent).values(spent_s=0.0))


def adopt(store: Store) -> None:
    """Let jobs that an older server took wait as others do: each in the lane of its queue."""
    strange = (JobRow.state == QUEUED, JobRow.lane.is_(None))
    with store.reading() as connection:
        if connection.scalar(select(JobRow.number).where(*strange).limit(1)) is None:
            return
    lane = case({kind: found.queue for kind, found in KINDS.items()}, value=JobRow.kind)
    with store.writing() as connection:
        for share in connection.scalars(select(_share()).where(*strange).distinct()).all():
            join(connection, share)
            its = update(JobRow).where(*strange, _share() == share)
            connection.execute(its.values(lane=lane, share=share))
