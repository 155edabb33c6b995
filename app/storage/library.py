"""What is stored and may be named by its id in a request."""

from app.errors import NotFound
from app.reading.references import Library
from app.schemas.clusters import CostModelBody
from app.schemas.cost_models import CostModelAnswer
from app.storage.database import Store
from app.storage.tables import CostModelRow, GraphRow


def library_of(store: Store) -> Library:
    """Return what is in a store."""

    def model(model_id: str) -> CostModelBody | None:
        try:
            stored = store.get(CostModelRow, model_id)
        except NotFound:
            return None
        return CostModelAnswer.model_validate_json(stored.result).model

    def graph(graph_id: str) -> str | None:
        try:
            stored = store.get(GraphRow, graph_id)
        except NotFound:
            return None
        return stored.request

    return Library(model, graph)
