"""What is stored and may be named by its id in a request."""

from collections.abc import Callable
from typing import NamedTuple

from app.cluster import CostModelBody
from app.cost_model_answer import CostModelAnswer
from app.errors import NotFound
from app.storage import Store
from app.tables import CostModelRow, GraphRow


class Library(NamedTuple):
    """Finds a cost model, or the JSON text of a graph, by id; None when there is none."""

    model: Callable[[str], CostModelBody | None]
    graph: Callable[[str], str | None]


#: Where nothing is stored.
NOTHING = Library(lambda _: None, lambda _: None)


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
