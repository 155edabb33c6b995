"""Connections to PostgreSQL, with the same promises as those to SQLite.

A transaction that writes alone holds a lock of the database's, for which the others wait: so two
servers that migrate, or take jobs with one key, do it one after the other. What reads sees one
state. Whoever holds a lock and is silent for long is cut off by the database.
"""

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

#: What a transaction of Interlace's that writes alone locks: any number that others do not use.
_ALONE = 0x1A7E51ACE


#: A connection that is not made, and a lock that is not given, in so long is an error [s].
_CONNECT_S, _LOCK_S = 5, 30


#: A transaction that asks for nothing for so long is ended: its process is stopped, or gone [s].
_IDLE_S = 30


#: Connections that a process keeps, and how many more it may make while all are in use.
_KEPT, _MORE = 10, 10


#: What a connection is made with, where the URL does not say otherwise. A dead network is noticed.
_DEFAULTS: dict[str, Any] = {
    "connect_timeout": _CONNECT_S,
    "application_name": "interlace",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "options": f"-c lock_timeout={_LOCK_S}s -c idle_in_transaction_session_timeout={_IDLE_S}s",
}


def engine_of(url: URL) -> Engine:
    """Make the connections of one process to a PostgreSQL database, none yet."""
    engine = create_engine(
        url,
        connect_args={name: value for name, value in _DEFAULTS.items() if name not in url.query},
        pool_size=_KEPT,
        max_overflow=_MORE,
        pool_pre_ping=True,  # a restart of the database costs no call that comes after it
        pool_use_lifo=True,
    )

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: object) -> None:
        """Take texts with NUL, which no text of PostgreSQL's has: an id with one finds nothing."""
        from psycopg.types.string import StrDumperUnknown  # noqa: PLC0415 - may not be installed

        class Plain(StrDumperUnknown):
            def dump(self, obj: str) -> Any:
                return super().dump(obj.replace("\0", "\ufffd"))

        connection.adapters.register_dumper(str, Plain)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        """Wait for whoever writes alone."""
        if connection.get_execution_options().get("write"):
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ALONE})")

    return engine


#: How a transaction is begun that sees one state of the database, and changes nothing.
READING: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
