"""What an import of another tool's files answers: a graph, its cluster, profiled steps."""

from typing import Annotated, Any

from pydantic import Field

from app.schemas.base import AnswerModel, ShownAs
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import CollectiveKind, GraphBody
from app.schemas.profiled_steps import ProfiledStepBody
from solver.calibration.channels import Basis
from solver.traces import Report


class LaneCost(AnswerModel):
    """What the launches of a kind on a channel took in a trace, as a line.

    Notes
    -----
    The solver fits a channel at a time and does not know its name; figures are rounded here.
    """

    channel: str
    kind: CollectiveKind
    workers: Annotated[int, Field(description="That share the channel, as they were counted on.")]
    launches: Annotated[int, Field(description="Recorded launches that the line was fitted to.")]
    left_out: Annotated[
        int, Field(description="Launches that were not, as far too short beside the others.")
    ]
    sizes: Annotated[int, Field(description="Different sizes among them.")]
    least_bytes: int
    most_bytes: int
    startup_us: Annotated[float, Field(description="Time of any launch [us].")]
    us_per_byte: Annotated[float, Field(description="Time of each byte [us].")]
    bandwidth_gbps: Annotated[
        float | None,
        Field(description="Of a ring with this time of a byte [Gbit/s]; null when out of range."),
    ]
    error_median: Annotated[
        float, Field(description="Median of abs(line / recorded time - 1) over the launches.")
    ]
    error_p90: Annotated[float, Field(description="The 0.9-quantile of the same.")]
    error_worst: Annotated[float, Field(description="The largest.")]
    spread: Annotated[
        float | None,
        Field(
            description="How far launches of one size were apart: (0.9-quantile - 0.1-quantile) / "
            "median; null where no size was launched three times."
        ),
    ]
    basis: Annotated[
        Basis,
        Field(
            description="`own_sizes`: the sizes of the kind tell start-up from bandwidth; "
            "`shared_bandwidth`: it has the bandwidth of all kinds on the channel; "
            "`assumed_startup`: nothing tells them apart, the start-up is assumed; "
            "`fastest_link`: they tell no bandwidth that a link has, it is that of the fastest."
        ),
    ]


_Cluster = Annotated[
    Annotated[dict[str, Any], ShownAs(ClusterBody)] | None,
    Field(
        description="`cluster` of a request: workers, channels and costs as the files tell them; "
        "`report.assumed` says what they do not tell. Of a file of Interlace's own what it has "
        "beside its graph, null where that is none. Null without a graph."
    ),
]


_Costs = Annotated[
    list[LaneCost],
    Field(description="What the cost models of the cluster were fitted to, and how well."),
]


_Steps = Annotated[
    list[Annotated[dict[str, Any], ShownAs(ProfiledStepBody)]] | None,
    Field(
        description="`steps` of a prediction of parameter servers, where the files are of training "
        "through them. Null of other files, and where a warning says why there are none."
    ),
]


class GraphOut(AnswerModel):
    """A graph, the cluster that it was recorded on, and what its reader did."""

    id: Annotated[
        str | None,
        Field(
            description="Made of the graph's content; `graph_id` of a request. Null without one."
        ),
    ]
    graph: Annotated[
        Annotated[dict[str, Any], ShownAs(GraphBody)] | None,
        Field(description="One iteration; null when the files hold no times to plan with."),
    ]
    cluster: _Cluster = None
    costs: _Costs = Field(default=[])
    steps: _Steps = None
    report: Report


class ImportAnswer(AnswerModel):
    """What an import made."""

    graph_id: Annotated[
        str | None,
        Field(description="Of the graph, at `/v1/graphs`; null when there is nothing to plan."),
    ]
    cluster: _Cluster = None
    costs: _Costs = Field(default=[])
    steps: _Steps = None
    report: Report
