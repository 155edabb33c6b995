"""The table of graphs."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "graphs",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("finished_at", sa.String(32), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("format", sa.String(32), nullable=False),
        sa.Column("ops", sa.Integer, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("graphs")
