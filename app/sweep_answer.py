"""The response bodies of sweeps. Unknown is null."""

from typing import Annotated

from pydantic import Field

from app.body import Answered
from app.cluster import ClusterBody
from app.warned import Warned
from solver.prediction.knees import Knee


class SweepPolicy(Answered):
    """A policy of a sweep, with the parameters that were given."""

    label: Annotated[
        str,
        Field(
            description="What it is called in the cells: its name, and what was given besides.",
            examples=["horovod:cycle_time_us=5000"],
        ),
    ]
    policy: str
    barrier: bool
    parameters: dict[str, int | float | str]


class SweepCell(Answered):
    """One cluster, and what each policy does on it."""

    workers: int
    bandwidth_gbps: float | None
    startup_us: float
    compute_time_us: Annotated[
        float, Field(description="An iteration with free communication [us].")
    ]
    lower_bound_us: Annotated[float, Field(description="No plan is faster [us].")]
    iteration_time_us: Annotated[
        dict[str, float | None],
        Field(description="Of each policy, by label [us]; null where PACE is not defined."),
    ]
    best: Annotated[
        str | None,
        Field(description="Label of the fastest; of equally fast ones the first in the request."),
    ]
    scaling_factor: Annotated[
        float | None, Field(description="Of the best: compute time / iteration time.")
    ]
    speed: Annotated[
        float | None,
        Field(description="Of the best, in workers that never wait: workers x scaling factor."),
    ]
    speed_bound: Annotated[
        float | None, Field(description="The same at the lower bound: no plan does more.")
    ]
    extrapolated: Annotated[
        bool,
        Field(description="A cost was scaled from measurements on other workers or bandwidth."),
    ]


class SweepAxes(Answered):
    """The values of a sweep, ascending; one value where nothing is swept."""

    workers: list[int]
    bandwidths_gbps: list[float | None]
    startups_us: list[float]


class SweepRequestOut(Answered):
    """What was asked, defaults filled in; the graph by its hash."""

    cluster: ClusterBody
    barrier: bool
    seed: int
    time_limit_s: float
    sweep_limit_s: float
    graph_sha256: str


class SweepAnswer(Answered):
    """Cells in the order of workers, then bandwidth, then start-up, all ascending."""

    runtime_s: Annotated[float, Field(description="Time that the sweep took [s].")]
    name: Annotated[str, Field(description="Name of the graph.")]
    summary: Annotated[list[str], Field(description="What the sweep says, in sentences.")]
    axes: SweepAxes
    policies: list[SweepPolicy]
    cells: list[SweepCell]
    knees: Annotated[
        list[Knee],
        Field(
            description="From where on more bandwidth, or more workers, gain nothing: for each "
            "policy along each row of two cells or more."
        ),
    ]
    warnings: Annotated[
        list[Warned],
        Field(
            description="What the cells rest on that was not measured; sizes are those of the "
            "tensors alone."
        ),
    ]
    request: SweepRequestOut
    version: str
