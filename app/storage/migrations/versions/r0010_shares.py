"""Turns by owner: which lane and share a job waits in, and what each share has used.

Rows that an older server adds have neither; the service fills them in.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("lane", sa.String(16)))
    op.add_column("jobs", sa.Column("share", sa.String(64)))
    op.add_column("jobs", sa.Column("spent_s", sa.Float, nullable=False, server_default="0"))
    op.create_index("jobs_by_turn", "jobs", ["state", "lane", "share", "number"])
    op.create_table(
        "shares",
        sa.Column("share", sa.String(64), primary_key=True),
        sa.Column("used_s", sa.Float, nullable=False, server_default="0"),
    )


def downgrade() -> None:
    op.drop_table("shares")
    op.drop_index("jobs_by_turn", "jobs")
    op.drop_column("jobs", "spent_s")
    op.drop_column("jobs", "share")
    op.drop_column("jobs", "lane")
