"""One table of jobs in the place of a table for each kind of result."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

#: Kind, its table, and its columns by what a list calls them.
_TIME = "iteration_time_us"
_BEFORE = (
    ("plan", "plans", {"status": "status", _TIME: _TIME}),
    ("simulation", "simulations", {"policy": "status", _TIME: _TIME}),
    ("sweep", "sweeps", {"cells": "cells"}),
)
_JOB = ("id", "state", "created_at", "finished_at", "name")
_AT_ONCE = 100


def upgrade() -> None:
    jobs = op.create_table(
        "jobs",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("started_at", sa.String(32)),
        sa.Column("finished_at", sa.String(32)),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("request_id", sa.String(128), nullable=False),
        sa.Column("limit_s", sa.Float),
        sa.Column("owner", sa.String(32)),
        sa.Column("lease", sa.String(32)),
        sa.Column("heartbeat_at", sa.String(32)),
        sa.Column("progress", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("content", sa.String(64)),
        sqlite_autoincrement=True,
    )
    op.create_index("jobs_by_state", "jobs", ["state", "kind", "number"])
    op.create_index("jobs_by_kind", "jobs", ["kind", "number"])
    op.create_index("jobs_by_content", "jobs", ["content"])
    op.create_index("jobs_by_end", "jobs", ["finished_at"])
    payloads = op.create_table(
        "payloads",
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.number"), primary_key=True),
        sa.Column("part", sa.String(16), primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "tags",
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.number"), primary_key=True),
        sa.Column("tag", sa.String(64), primary_key=True),
    )
    op.create_index("tags_by_tag", "tags", ["tag", "job"])
    op.create_table(
        "idempotency_keys",
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("job", sa.Integer, sa.ForeignKey("jobs.number"), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
    )
    for kind, table, listed in _BEFORE:
        _move(kind, table, listed, jobs, payloads)
        op.drop_table(table)


def _move(kind: str, name: str, listed: dict[str, str], jobs: sa.Table, payloads: sa.Table) -> None:
    """Make a job of each result; the order by age within a kind stays."""
    connection = op.get_bind()
    columns = ("number", *_JOB, *listed.values(), "request", "result")
    table = sa.table(name, *map(sa.column, columns))
    last = 0
    while True:
        query = sa.select(table).where(table.c.number > last).order_by(table.c.number)
        rows = connection.execute(query.limit(_AT_ONCE)).mappings().all()
        if not rows:
            return
        for row in rows:
            values = {field: row[field] for field in _JOB} | {
                "kind": kind,
                "started_at": row["created_at"],
                "attempts": 1,
                "revision": 1,
                "request_id": "",
                "summary": json.dumps({field: row[was] for field, was in listed.items()}),
            }
            key = connection.execute(sa.insert(jobs).values(values)).inserted_primary_key
            assert key is not None, "a row has a number"
            number = key[0]
            for part in ("request", "result"):
                content = {"job": number, "part": part, "content": row[part].encode()}
                connection.execute(sa.insert(payloads).values(content))
        last = rows[-1]["number"]


def downgrade() -> None:
    raise NotImplementedError("jobs that have not ended have no place in the tables before")
