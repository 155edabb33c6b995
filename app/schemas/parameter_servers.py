"""Training through parameter servers: the request of its prediction, and the answer.

Unknown is null.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from app.limits import (
    MAX_BANDWIDTHS,
    MAX_BATCH_SAMPLES,
    MAX_NAME_CHARACTERS,
    MAX_PROFILED_STEPS,
    MAX_SEED,
    MAX_US_PER_BYTE,
    MAX_WORKER_COUNTS,
)
from app.schemas.base import PLAIN, AnswerModel, OneOf
from app.schemas.explanations import CostWarning
from app.schemas.graphs import GraphBody, GraphRequest
from app.schemas.networks import Gbps, Microseconds
from app.schemas.profiled_steps import ProfiledStepBody
from solver.codes import FaultCode
from solver.errors import Fault
from solver.evidence.evidence import Evidence
from solver.limits import (
    MAX_BYTES,
    MAX_JITTER_SPREAD,
    MAX_PREDICTED_STEPS,
    MAX_PREDICTED_WORKERS,
    MAX_SERVERS,
)
from solver.parameter_server.links import WIN_BYTES
from solver.parameter_server.options import ThroughputOptions
from solver.parameter_server.orders import ORDERS
from solver.parameter_server.rows import ThroughputKnee, ThroughputRow

#: Fields that say how a graph becomes a step.
_OF_GRAPHS = ("servers", "update_us_per_byte")
#: Fields that recorded transfers can say.
FITTED_FIELDS = ("bandwidths_gbps", "flow_control", "win_bytes", "parse_us_per_byte", "parse_us")


UsPerByte = Annotated[float, Field(ge=0, le=MAX_US_PER_BYTE)]


class ParameterServerRequest(GraphRequest):
    """Steps of one worker, or a training graph, and the workers and bandwidths to predict."""

    graph: Annotated[
        GraphBody | None,
        Field(
            description="Instead of steps: a training graph whose all-reduces become a push, an "
            "update and a pull each."
        ),
    ] = None
    name: Annotated[
        str,
        Field(
            max_length=MAX_NAME_CHARACTERS,
            pattern=PLAIN,
            description="Of what is trained; left out, the graph's.",
        ),
    ] = ""
    steps: Annotated[
        Annotated[list[ProfiledStepBody], Field(min_length=1, max_length=MAX_PROFILED_STEPS)]
        | None,
        Field(
            description="Profiled steps of one worker alone; each simulated step is one of them."
        ),
    ] = None
    servers: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_SERVERS,
            description="Over how many servers the tensors of a graph are spread; steps name "
            "theirs.",
        ),
    ] = 1
    update_us_per_byte: Annotated[
        UsPerByte,
        Field(description="Time that a server takes to update a byte of a graph's tensor [us]."),
    ] = 0
    batch_size: Annotated[
        int, Field(ge=1, le=MAX_BATCH_SAMPLES, description="Examples of a worker's step.")
    ]
    workers: Annotated[
        list[Annotated[int, Field(ge=1, le=MAX_PREDICTED_WORKERS)]],
        Field(
            min_length=1,
            max_length=MAX_WORKER_COUNTS,
            description="Worker counts, distinct, in any order.",
        ),
    ] = Field(default=[1, 2, 4, 8, 16])
    bandwidths_gbps: Annotated[
        list[Gbps],
        Field(
            min_length=1,
            max_length=MAX_BANDWIDTHS,
            description="Bandwidths of each server's and each worker's interface, in each "
            "direction [Gbit/s]; distinct, in any order. Left out only with `fit`.",
        ),
    ] = Field(default_factory=list)
    flow_control: Annotated[
        bool,
        Field(
            description="A transfer beyond `win_bytes` is done in two services, as HTTP/2 does; "
            "else each runs whole."
        ),
    ] = True
    win_bytes: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_BYTES,
            description="Most bytes of a transfer's first service; it then waits behind what is "
            "ready, and its second service runs to its end.",
        ),
    ] = WIN_BYTES
    parse_us_per_byte: Annotated[
        UsPerByte,
        Field(description="Time to parse a byte that was received, on the receiver [us]."),
    ] = 0
    parse_us: Annotated[
        Microseconds, Field(description="Time to parse any transfer, besides [us].")
    ] = 0
    order: Annotated[
        str,
        OneOf(tuple(ORDERS)),
        Field(
            description="In which order the transfers leave that are ready when a step starts: "
            "`fifo`, as given; `tic`, TicTac's, what compute needs with the fewest others; "
            "`reverse` of `tic`; `random`, one for the run."
        ),
    ] = "fifo"
    simulated_steps: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_PREDICTED_STEPS,
            description="Steps of a worker; the run ends when the first worker has done so many.",
        ),
    ] = 1_000
    dropped_steps: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_PREDICTED_STEPS // 2,
            description="So many steps a worker are not counted at the start; half at most.",
        ),
    ] = 50
    seed: Annotated[int, Field(ge=0, le=MAX_SEED, description="Seed of all draws.")] = 0
    synchronous: Annotated[
        bool, Field(description="All workers begin a step when all have ended the one before.")
    ] = False
    fit: Annotated[
        bool,
        Field(
            description="Fit the bandwidth, parsing and the window of flow control to the times of "
            "recorded transfers, but for what the request says; `notes` say what was fitted, and "
            "how well recorded ends are met."
        ),
    ] = False
    spread: Annotated[
        Annotated[float, Field(ge=0, le=MAX_JITTER_SPREAD)] | None,
        Field(
            description="Standard deviation of a factor of mean 1 on the compute of each step of "
            "each worker; null: 0.05 of one profiled step, 0 of several that differ."
        ),
    ] = None
    explain: Annotated[
        bool, Field(description="Run each row again with each resource faster: what limits it.")
    ] = True

    @property
    def own_name(self) -> str:
        """What its job is called; empty where it is called as its graph."""
        return self.name

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return False

    def own_faults(self) -> list[Fault]:
        """List what is wrong besides the graph and the steps themselves."""
        return [*super().own_faults(), *_source_faults(self), *_faults(self)]

    def to_options(self) -> ThroughputOptions:
        """Return what to predict as the solver knows it, workers and bandwidths ascending."""
        return ThroughputOptions(
            workers=tuple(sorted(self.workers)),
            bandwidths_gbps=tuple(sorted(self.bandwidths_gbps)),
            batch_size=self.batch_size,
            win_bytes=self.win_bytes if self.flow_control else None,
            parse_us_per_byte=self.parse_us_per_byte,
            parse_us=self.parse_us,
            order=self.order,
            steps=self.simulated_steps,
            dropped=self.dropped_steps,
            seed=self.seed,
            synchronous=self.synchronous,
            spread=self.spread,
            explain=self.explain,
        )


def _source_faults(request: ParameterServerRequest) -> Iterator[Fault]:
    """Want steps or a graph, and of steps nothing that is said of graphs."""
    has_graph = request.graph is not None
    if request.steps is None:
        if not has_graph:
            detail = "Give steps, or a training graph (graph or graph_id)."
            yield Fault("/steps", FaultCode.MISSING_FIELD, detail)
        return
    if has_graph:
        yield Fault("/graph", FaultCode.EXTRA_FIELD, "Give steps or a graph, not both.")
    for field in _OF_GRAPHS:
        if field in request.model_fields_set:
            detail = f"{field} says how a graph becomes a step; leave it out beside steps."
            yield Fault(f"/{field}", FaultCode.EXTRA_FIELD, detail)


def _faults(request: ParameterServerRequest) -> Iterator[Fault]:
    if request.fit and request.steps is None:
        detail = "fit takes the times of recorded transfers: give steps."
        yield Fault("/fit", FaultCode.OUT_OF_RANGE, detail)
    if not request.bandwidths_gbps and not request.fit:
        detail = "Give bandwidths_gbps, or steps whose transfers were recorded, and fit."
        yield Fault("/bandwidths_gbps", FaultCode.MISSING_FIELD, detail)
    if not request.flow_control and "win_bytes" in request.model_fields_set:
        detail = "win_bytes is the window of flow control; leave it out where flow_control is off."
        yield Fault("/win_bytes", FaultCode.EXTRA_FIELD, detail)
    if request.dropped_steps > request.simulated_steps // 2:
        detail = (
            f"dropped_steps must be at most half of simulated_steps, {request.simulated_steps:,}; "
            f"got {request.dropped_steps:,}."
        )
        yield Fault("/dropped_steps", FaultCode.OUT_OF_RANGE, detail)
    for field in ("workers", "bandwidths_gbps"):
        values: list[Any] = getattr(request, field)
        for i, value in enumerate(values):
            if (first := values.index(value)) < i:
                detail = f"{field} must be distinct; {value:g} is at {first} already."
                yield Fault(f"/{field}/{i}", FaultCode.OUT_OF_RANGE, detail)


class ParameterServerRequestOut(AnswerModel):
    """What was asked, defaults filled in; steps and graph by their hashes."""

    steps_sha256: Annotated[
        str, Field(description="Of the steps as JSON, those that a graph became too.")
    ]
    graph_sha256: Annotated[str | None, Field(description="Null with steps.")]
    servers: Annotated[int | None, Field(description="Null with steps, which name theirs.")]
    update_us_per_byte: Annotated[float | None, Field(description="Null with steps.")]
    batch_size: int
    workers: list[int]
    bandwidths_gbps: list[float]
    flow_control: bool
    win_bytes: Annotated[int | None, Field(description="Null without flow control.")]
    parse_us_per_byte: float
    parse_us: float
    order: str
    simulated_steps: int
    dropped_steps: int
    seed: int
    synchronous: bool
    fit: bool = False
    spread: Annotated[float | None, Field(description="Null: as `notes` say.")]
    explain: bool


class ParameterServerAnswer(AnswerModel):
    """Throughput by workers and bandwidth."""

    runtime_s: Annotated[float, Field(description="Time that the prediction took [s].")]
    name: Annotated[str, Field(description="Of what is trained.")]
    profiled_steps: Annotated[int, Field(description="How many steps there are to draw from.")]
    rows: Annotated[
        list[ThroughputRow],
        Field(description="In the order of bandwidth, then workers, both ascending."),
    ]
    knees: Annotated[list[ThroughputKnee], Field(description="One a bandwidth.")]
    notes: Annotated[
        list[str], Field(description="What was assumed, and what the other formulas know.")
    ]
    evidence: Annotated[
        Evidence | None,
        Field(
            description="What was measured, and below which gain nothing follows. Null in answers "
            "of earlier versions."
        ),
    ] = None
    warnings: list[CostWarning]
    request: ParameterServerRequestOut
    version: str
