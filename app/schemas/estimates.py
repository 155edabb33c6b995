"""Estimates: the request body of ``POST /v1/estimates``, and the answer. Unknown is null."""

from typing import Annotated

from pydantic import Field

from app.limits import MAX_BATCH_SAMPLES, MAX_NAME_CHARACTERS, MAX_TEXT_CHARACTERS
from app.schemas.base import PLAIN, AnswerModel, Name, RequestModel
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import GraphBody
from app.schemas.networks import CostModelBody, Gbps, Workers
from app.schemas.policies import PolicyBody
from solver.estimation.times_table import TimesRow
from solver.limits import MAX_DURATION_US, MAX_RUNS, MAX_TOKENS, MIN_TIME_US
from solver.models import MODELS
from solver.policies.choice import Choice

#: Most graphs of a request, and most parameters of policies.
_MAX_GRAPHS, _MAX_PARAMETERS = 32, 8

Network = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, pattern=PLAIN)]


class RowBody(RequestModel):
    """A training run whose iterations were timed, or are to be predicted."""

    model: Annotated[Name | None, Field(description=f"A generated model: {', '.join(MODELS)}.")] = (
        None
    )
    graph: Annotated[
        Name | None,
        Field(description="Instead of a model: a key of `graphs`, or the id of a stored graph."),
    ] = None
    workers: Workers
    policy: PolicyBody
    barrier: Annotated[
        bool | None,
        Field(
            description="Whether the optimizer waits for all sums; null: unless the policy is "
            "tictac, p3, bytescheduler or pace."
        ),
    ] = None
    time_us: Annotated[
        Annotated[float, Field(ge=MIN_TIME_US, le=MAX_DURATION_US)] | None,
        Field(description="Measured time of an iteration [us]; null to predict it."),
    ] = None
    throughput: Annotated[
        Annotated[float, Field(gt=0, le=1e15)] | None,
        Field(description="Instead of a time: samples a second of all workers, with `batch`."),
    ] = None
    batch: Annotated[
        Annotated[int, Field(ge=1, le=MAX_BATCH_SAMPLES)] | None,
        Field(description="Samples of one worker in an iteration; null for the model's."),
    ] = None
    tokens: Annotated[
        Annotated[int, Field(ge=1, le=MAX_TOKENS)] | None,
        Field(
            description="Length of a sequence, of models that have sequences; null for the model's."
        ),
    ] = None
    network: Annotated[
        Network, Field(description="Rows of one network share its start-up, hop and bandwidth.")
    ] = ""
    bandwidth_gbps: Annotated[
        Gbps | None,
        Field(
            description="Nominal bandwidth of this row [Gbit/s]; where all rows of a network have "
            "one, the share of it that is used is estimated."
        ),
    ] = None

    def to_row(self) -> TimesRow:
        """Return the row as the solver knows it."""
        same = self.model_dump(include=set(TimesRow.__slots__) - {"policy"})
        choice = self.policy.to_choice()
        same["barrier"] = True if choice.barrier else self.barrier
        return TimesRow(**same, policy=Choice(choice.policy, parameters=choice.parameters))


class EstimateRequest(RequestModel):
    """Measured iteration times, to estimate the costs behind them; rows or a text."""

    rows: Annotated[
        Annotated[list[RowBody], Field(min_length=1, max_length=MAX_RUNS)] | None,
        Field(description="Rows with a time or a throughput are fitted to, others predicted."),
    ] = None
    text: Annotated[
        Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)] | None,
        Field(
            description="The same as CSV: `model` or `graph`, `workers`, `policy`, `time_us` or "
            "`throughput` and `batch`, `tokens`, `network`, `bandwidth_gbps`, `barrier`."
        ),
    ] = None
    graphs: Annotated[
        dict[Name, GraphBody],
        Field(max_length=_MAX_GRAPHS, description="Graphs that rows name."),
    ] = Field(default={})
    cluster: Annotated[
        ClusterBody,
        Field(
            description="What is known of the network: its algorithm, and what bandwidth, start-up "
            "and hop are likely before the rows are seen; 0 is what is typical of the bandwidth. "
            "Workers are those of each row."
        ),
    ] = Field(default=ClusterBody(workers=8, bandwidth_gbps=10))
    parameters: Annotated[
        list[Name],
        Field(
            max_length=_MAX_PARAMETERS,
            description="What else to estimate: figures of policies, as `horovod.cycle_time_us`.",
        ),
    ] = Field(default=[])


class ParameterOut(AnswerModel):
    """A figure after the rows were seen.

    Notes
    -----
    The solver's has the parameter as an object, which is flat here.
    """

    name: Annotated[
        str,
        Field(
            description="`startup_us`, `hop_us`, `bandwidth_gbps`, `bandwidth_share` (of the "
            "nominal one), `compute_slowdown` (how many times as long compute takes while launches "
            "run), `compute_scale` (times the graph's durations), or `policy.parameter`."
        ),
    ]
    subject: Annotated[
        str,
        Field(description="The network or the model that it is of; empty for the one network."),
    ]
    value: Annotated[float | None, Field(description="Null where the rows do not determine it.")]
    error: Annotated[
        float | None, Field(description="Standard deviation of its logarithm: a share of it.")
    ]
    used: Annotated[
        float, Field(description="With what the rows are simulated: the likeliest value.")
    ]
    reason: Annotated[str | None, Field(description="Why there is no value.")]


class RowOut(AnswerModel):
    """A row as it was simulated."""

    model: Annotated[str, Field(description="Name of the model or graph.")]
    workers: int
    policy: str
    barrier: bool
    network: str
    measured_us: Annotated[float | None, Field(description="Measured time [us]; null: predicted.")]
    time_us: Annotated[
        float,
        Field(
            description="Simulated time [us]; of a row without a time the middle of its interval."
        ),
    ]
    low_us: Annotated[
        float,
        Field(
            description="Nine of ten measured times are from this one [us]: what the rows leave "
            "open is drawn as far off as it may be, and noise as that of the rows is added."
        ),
    ]
    high_us: Annotated[float, Field(description="And to this one [us].")]
    error: Annotated[float | None, Field(description="Simulated over measured time - 1.")]


class NetworkCost(AnswerModel):
    """What a launch costs on a network of the rows."""

    network: str
    bandwidth_gbps: Annotated[
        float | None, Field(description="Nominal bandwidth of its rows; null where none says it.")
    ]
    model: Annotated[CostModelBody, Field(description="What `cluster.cost_model` takes.")]


class EstimateAnswer(AnswerModel):
    """What the rows say of costs, and what these say of the rows."""

    summary: Annotated[list[str], Field(description="What was found, in sentences.")]
    parameters: list[ParameterOut]
    rows: Annotated[list[RowOut], Field(description="In the order of the request.")]
    median_error: Annotated[float, Field(description="Of the rows with a time, without its sign.")]
    worst_error: float
    noise: Annotated[
        float,
        Field(description="How far times and simulation are apart; the errors above rest on it."),
    ]
    costs: list[NetworkCost]
    model: Annotated[
        CostModelBody | None,
        Field(description="The cost of the one network; null where there are several."),
    ]
    version: str
