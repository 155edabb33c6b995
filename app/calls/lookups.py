"""What is looked up and told as it is, by whoever has imported what tells it."""

from app.calls.messages import Answered
from app.jobs import table as jobs
from app.jobs.kinds import IMPORT
from app.schemas.imports import GraphOut, ImportAnswer
from app.services import examples
from app.storage import graphs
from app.storage.database import Store


def example_names(_store: Store) -> Answered:
    """List the examples."""
    return Answered(examples.names().model_dump_json().encode())


def example(_store: Store, name: str) -> Answered:
    """Return the example of a name."""
    return Answered(examples.example(name).model_dump_json(exclude_unset=True).encode())


def made(store: Store, job_id: str, place: str, headers: dict[str, str]) -> Answered:
    """Answer with the graph that an import made, or say that there is nothing to plan."""
    _, result = jobs.answered(store, IMPORT, job_id)
    answer = ImportAnswer.model_validate_json(result)
    if answer.graph_id is None:
        none = GraphOut.of(answer, id=None, graph=None)
        return Answered(none.model_dump_json().encode(), headers=tuple(headers.items()))
    where = {"Location": f"{place}/{answer.graph_id}", **headers}
    found = graphs.find_made(store, answer)
    return Answered(found, status=201, headers=tuple(where.items()))
