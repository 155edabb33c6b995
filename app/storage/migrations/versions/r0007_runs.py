"""The tables of runs."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("reported_at", sa.String(32), nullable=False),
        sa.Column("ended_at", sa.String(32)),
        sa.Column("ended_why", sa.Text),
        sa.Column("workers", sa.Integer, nullable=False),
        sa.Column("barrier", sa.Boolean, nullable=False),
        sa.Column("runtime", sa.Text, nullable=False),
        sa.Column("plans", sa.Integer, nullable=False),
        sa.Column("steps", sa.Integer, nullable=False),
        sa.Column("last_step", sa.BigInteger),
        sa.Column("key", sa.String(255)),
        sa.Column("fingerprint", sa.String(64)),
        sqlite_autoincrement=True,
    )
    op.create_index("runs_by_state", "runs", ["state", "number"])
    op.create_index("runs_by_key", "runs", ["key"])
    op.create_index("runs_by_report", "runs", ["reported_at"])
    op.create_table(
        "run_plans",
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.number"), primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("from_step", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("plan_id", sa.String(32)),
        sa.Column("predicted_us", sa.Float, nullable=False),
        sa.Column("buckets", sa.Integer, nullable=False),
        sa.Column("launches", sa.Integer, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
    )
    op.create_table(
        "run_steps",
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.number"), primary_key=True),
        sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("plan", sa.Integer, nullable=False),
        sa.Column("measured_us", sa.Float, nullable=False),
        sa.Column("predicted_us", sa.Float, nullable=False),
        sa.Column("ready_spread_us", sa.Float),
        sa.Column("note", sa.Text),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    for table in ("run_steps", "run_plans", "runs"):
        op.drop_table(table)
