"""The time up to which the database's clock is trusted when what is old is deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "clock",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("trusted_at", sa.String(32), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("clock")
