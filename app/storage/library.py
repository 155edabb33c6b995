"""What is stored and may be named by its id in a request."""

from app.errors import NotFound
from app.reading.references import LargeGraph, Library
from app.schemas.cost_models import CostModelAnswer
from app.schemas.networks import CostModelBody
from app.storage.database import Store
from app.storage.tables import CostModelRow, GraphRow


def library_of(store: Store, max_graph_bytes: int | None = None) -> Library:
    """Return what is in a store; it raises LargeGraph for a graph of more bytes."""

    def model(model_id: str) -> CostModelBody | None:
        try:
            stored = store.get(CostModelRow, model_id)
        except NotFound:
            return None
        return CostModelAnswer.model_validate_json(stored.result).model

    def graph(graph_id: str) -> str | None:
        if (
            max_graph_bytes is not None
            and store.request_bytes(GraphRow, graph_id) > max_graph_bytes
        ):
            raise LargeGraph
        try:
            return store.get(GraphRow, graph_id).request
        except NotFound:
            return None

    return Library(model, graph)
