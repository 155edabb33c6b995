"""Whose everything is: keys, owners, what they used, and what they changed.

Columns and tables are added alone, each column with a default or null, so that servers of the
release before go on beside it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_OWNED = ("jobs", "cost_models", "graphs", "runs")
_SIZED = ("jobs", "cost_models", "graphs")
_USED = ("cost_models", "graphs")


def upgrade() -> None:
    for table in _OWNED:
        op.add_column(table, sa.Column("owned_by", sa.String(64)))
        op.add_column(table, sa.Column("team", sa.String(64)))
        op.create_index(f"{table}_by_owner", table, ["owned_by", "number"])
        op.create_index(f"{table}_by_team", table, ["team", "number"])
    for table in _SIZED:
        op.add_column(table, sa.Column("bytes", sa.BigInteger, nullable=False, server_default="0"))
    for table in _USED:
        op.add_column(table, sa.Column("used_at", sa.String(32)))
    op.add_column("jobs", sa.Column("cancel_at", sa.String(32)))
    op.add_column("jobs", sa.Column("traceparent", sa.String(64)))
    op.create_table(
        "api_keys",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("team", sa.String(64)),
        sa.Column("scopes", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("expires_at", sa.String(32)),
        sa.Column("revoked_at", sa.String(32)),
        sa.Column("used_at", sa.String(32)),
        sa.Column("limits", sa.Text, nullable=False, server_default="{}"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "usage",
        sa.Column("owner", sa.String(64), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("solving_s", sa.Float, nullable=False, server_default="0"),
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("key", sa.String(32)),
        sa.Column("owner", sa.String(64)),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("target", sa.String(64), nullable=False),
        sa.Column("request_id", sa.String(128), nullable=False),
        sa.Column("address", sa.String(64)),
        sa.Column("status", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_time", "audit", ["at"])


def downgrade() -> None:
    for table in ("audit", "usage", "api_keys"):
        op.drop_table(table)
    op.drop_column("jobs", "traceparent")
    op.drop_column("jobs", "cancel_at")
    for table in _USED:
        op.drop_column(table, "used_at")
    for table in _SIZED:
        op.drop_column(table, "bytes")
    for table in _OWNED:
        op.drop_index(f"{table}_by_owner", table)
        op.drop_index(f"{table}_by_team", table)
        op.drop_column(table, "team")
        op.drop_column(table, "owned_by")
