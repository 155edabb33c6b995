"""The tables of sweeps and cost models."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    for table, own in (
        ("sweeps", sa.Column("cells", sa.Integer, nullable=False)),
        ("cost_models", sa.Column("algorithm", sa.String(32), nullable=False)),
    ):
        op.create_table(
            table,
            sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
            sa.Column("id", sa.String(32), nullable=False, unique=True),
            sa.Column("state", sa.String(16), nullable=False),
            sa.Column("created_at", sa.String(32), nullable=False),
            sa.Column("finished_at", sa.String(32), nullable=False),
            sa.Column("name", sa.Text, nullable=False),
            own,
            sa.Column("request", sa.Text, nullable=False),
            sa.Column("result", sa.Text, nullable=False),
            sqlite_autoincrement=True,
        )


def downgrade() -> None:
    op.drop_table("cost_models")
    op.drop_table("sweeps")
