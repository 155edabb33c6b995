"""The table of simulations."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "simulations",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("finished_at", sa.String(32), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("iteration_time_us", sa.Float, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("simulations")
