"""What of its owner's time a job counts for: one, for a job of an older server."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("weight", sa.Float, nullable=False, server_default="1"))


def downgrade() -> None:
    op.drop_column("jobs", "weight")
