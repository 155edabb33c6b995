"""What is stored and may be named by its id in a request, which keeps it from being deleted."""

from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select, update

from app.errors import NotFound, StorageUnavailable
from app.storage.clock import Moment, ago, shifted
from app.storage.database import Store
from app.storage.tables import CostModelRow, GraphRow, OwnedRow

if TYPE_CHECKING:
    from app.reading.references import Library
    from app.schemas.networks import CostModelBody

#: A use is noted when the last one noted was so long ago [s]: most requests write nothing.
_NOTED_S = 3_600.0


#: So many that are too old are deleted in one transaction; a graph may have many megabytes.
_AT_ONCE = 20


def library_of(store: Store, max_graph_bytes: int | None = None) -> "Library":
    """Return what is in a store; it raises LargeGraph for a graph of more bytes."""
    from app.reading.references import LargeGraph, Library  # noqa: PLC0415 - for children alone
    from app.schemas.cost_models import CostModelAnswer  # noqa: PLC0415

    def model(model_id: str) -> "CostModelBody | None":
        try:
            stored = store.get(CostModelRow, model_id)
        except NotFound:
            return None
        _use(store, stored)
        return CostModelAnswer.model_validate_json(stored.result).model

    def graph(graph_id: str) -> str | None:
        if (
            max_graph_bytes is not None
            and store.request_bytes(GraphRow, graph_id) > max_graph_bytes
        ):
            raise LargeGraph
        try:
            stored = store.get(GraphRow, graph_id)
        except NotFound:
            return None
        _use(store, stored)
        return stored.request

    return Library(model, graph)


def expire(store: Store, days: float, at: str) -> int:
    """Delete some of what no request named for so many days before a time; count it."""
    used = shifted(at, -days * 86_400)
    count = 0
    for kind in (CostModelRow, GraphRow):
        old = func.coalesce(kind.used_at, kind.created_at) < used
        some = select(kind.number).where(old).limit(_AT_ONCE)
        with store.reading() as connection:
            numbers = list(connection.scalars(some))
        if numbers:
            with store.writing() as connection:  # used meanwhile, it stays
                these = delete(kind).where(kind.number.in_(numbers), old)
                count += connection.execute(these).rowcount
    return count


def _use(store: Store, stored: OwnedRow) -> None:
    """Note that something is used, unless that was noted not long ago."""
    kind = type(stored)
    last = func.coalesce(kind.used_at, kind.created_at)
    this = update(kind).where(kind.number == stored.number)
    long_ago = this.where(last < Moment(_NOTED_S)).values(used_at=Moment())
    if (stored.used_at or stored.created_at) < ago(_NOTED_S):
        with (
            suppress(StorageUnavailable),
            store.changing() as connection,
        ):  # it is read all the same
            connection.execute(long_ago)
