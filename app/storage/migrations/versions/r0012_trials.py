"""Trials of plans in runs: what was promised, measured and kept."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "run_trials",
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.number"), primary_key=True),
        sa.Column("before_step", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("trial", sa.Text, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("run_trials")
