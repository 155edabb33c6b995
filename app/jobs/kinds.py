"""The kinds of jobs: where each is found, what answers it has, and which wait in one queue."""

from dataclasses import dataclass

from app.schemas.graphs import GraphRequest
from app.schemas.imports import ImportAnswer
from app.schemas.parameter_servers import ParameterServerAnswer, ParameterServerRequest
from app.schemas.plans import PlanAnswer, PlanRequest
from app.schemas.simulations import SimulationAnswer, SimulationRequest
from app.schemas.sweeps import SweepAnswer, SweepRequest

PLAN, SIMULATION, SWEEP, IMPORT = "plan", "simulation", "sweep", "import"


PARAMETER_SERVER = "parameter_server"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job.

    Attributes
    ----------
    word
        What a reader calls one of them.
    prefix
        Path of its collection.
    fields
        Names of the answer's fields, of those that every answer has.
    queue
        Jobs of one queue share its children. A sweep uses all cores by itself, and a prediction
        of parameter servers one for minutes; they keep no plan waiting.
    """

    word: str
    prefix: str
    fields: tuple[str, ...]
    queue: str


KINDS = {
    PLAN: Kind("plan", "/v1/plans", PlanAnswer.always(), "solves"),
    SIMULATION: Kind("simulation", "/v1/simulations", SimulationAnswer.always(), "solves"),
    SWEEP: Kind("sweep", "/v1/sweeps", SweepAnswer.always(), "sweeps"),
    PARAMETER_SERVER: Kind(
        "prediction",
        "/v1/predictions/parameter-server",
        ParameterServerAnswer.always(),
        "predictions",
    ),
    IMPORT: Kind("import", "/v1/imports", ImportAnswer.always(), "solves"),
}


#: What is posted about a graph.
MODELS: dict[str, type[GraphRequest]] = {
    PLAN: PlanRequest,
    SIMULATION: SimulationRequest,
    SWEEP: SweepRequest,
    PARAMETER_SERVER: ParameterServerRequest,
}


QUEUES = tuple(dict.fromkeys(kind.queue for kind in KINDS.values()))


def beside(kind: str) -> tuple[str, ...]:
    """Name the kinds that wait in one queue with a kind, itself included."""
    return queued_in(KINDS[kind].queue)


def queued_in(queue: str) -> tuple[str, ...]:
    """Name the kinds of a queue."""
    return tuple(name for name, kind in KINDS.items() if kind.queue == queue)
