"""The kinds of jobs: where each is found, what answers it has, and which wait in one queue."""

from dataclasses import dataclass

PLAN, SIMULATION, SWEEP, IMPORT = "plan", "simulation", "sweep", "import"


PARAMETER_SERVER, RANKING = "parameter_server", "ranking"


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job.

    Attributes
    ----------
    word
        What a reader calls one of them.
    prefix
        Path of its collection.
    fields
        Names of the answer's fields, of those that every answer has (:meth:`AnswerModel.always`).
    queue
        Jobs of one queue share its children. A sweep uses all cores by itself, and a prediction
        of parameter servers one for minutes; they keep no plan waiting.
    """

    word: str
    prefix: str
    fields: tuple[str, ...]
    queue: str


#: The fields of answers, which a job that has not ended has without values.
_PLAN = (
    "summary limited_by sensitivities critical_path tensors breakdown brief headline runtime_s "
    "status iteration_time_us best_time_us compute_time_us lower_bound_us gap scaling_factor "
    "exposed_us overlap ideal_us buckets schedule proof bound fused_graph baselines what_if "
    "off_calibration osf evidence warnings request version"
)
_SIMULATION = (
    "summary limited_by sensitivities critical_path tensors breakdown runtime_s policy "
    "iteration_time_us compute_time_us scaling_factor exposed_us overlap buckets schedule "
    "channels jitter what_if evidence warnings request version"
)
_SWEEP = (
    "runtime_s name summary axes policies cells cells_asked knees evidence warnings request version"
)
_PARAMETER_SERVER = (
    "runtime_s name profiled_steps rows knees notes evidence warnings request version"
)
_RANKING = (
    "model parameters gpus best front shapes too_large simulated cut is_proven lower_bound_us "
    "figures rows rows_error notes version"
)
_IMPORT = "graph_id cluster costs steps report"


KINDS = {
    PLAN: JobKind("plan", "/v1/plans", tuple(_PLAN.split()), "solves"),
    SIMULATION: JobKind("simulation", "/v1/simulations", tuple(_SIMULATION.split()), "solves"),
    SWEEP: JobKind("sweep", "/v1/sweeps", tuple(_SWEEP.split()), "sweeps"),
    PARAMETER_SERVER: JobKind(
        "prediction",
        "/v1/predictions/parameter-server",
        tuple(_PARAMETER_SERVER.split()),
        "predictions",
    ),
    RANKING: JobKind("ranking", "/v1/shapes/rankings", tuple(_RANKING.split()), "solves"),
    IMPORT: JobKind("import", "/v1/imports", tuple(_IMPORT.split()), "solves"),
}


#: What is posted as JSON, by reference (:mod:`app.references`).
MODELS = {
    PLAN: "app.schemas.plans:PlanRequest",
    SIMULATION: "app.schemas.simulations:SimulationRequest",
    SWEEP: "app.schemas.sweeps:SweepRequest",
    PARAMETER_SERVER: "app.schemas.parameter_servers:ParameterServerRequest",
    RANKING: "app.schemas.shapes:ShapeRequest",
}


SOLVES = KINDS[PLAN].queue


#: Where small work of the queue of plans waits; all else waits in a lane called as its queue.
SMALL = "small"


QUEUES = tuple(dict.fromkeys(kind.queue for kind in KINDS.values()))


def beside(kind: str) -> tuple[str, ...]:
    """Name the kinds that wait in one queue with a kind, itself included."""
    return queued_in(KINDS[kind].queue)


def lanes_of(queue: str) -> tuple[str, ...]:
    """Name the lanes of a queue."""
    return (SMALL, queue) if queue == SOLVES else (queue,)


def queued_in(queue: str) -> tuple[str, ...]:
    """Name the kinds of a queue."""
    return tuple(name for name, kind in KINDS.items() if kind.queue == queue)
