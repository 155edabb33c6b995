"""Cost models and graphs have no state: they are there, or not."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_TABLES = ("cost_models", "graphs")


def upgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "state")
        op.drop_column(table, "finished_at")


def downgrade() -> None:
    for table in _TABLES:
        state = sa.Column("state", sa.String(16), nullable=False, server_default="succeeded")
        end = sa.Column("finished_at", sa.String(32), nullable=False, server_default="")
        op.add_column(table, state)
        op.add_column(table, end)
        op.execute(f"UPDATE {table} SET finished_at = created_at")  # noqa: S608 - names of ours
