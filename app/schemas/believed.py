"""Belief beside the truth: costs that decide, where those of the cluster are executed."""

from typing import Annotated

from pydantic import Field

from app.limits import MAX_SEED
from app.schemas.base import RequestModel, is_unknown
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import ClusterRequest
from solver.evidence.belief import Belief
from solver.evidence.robustness import Measure
from solver.limits import MAX_BELIEVED_FACTOR, MAX_JITTER_SPREAD, MAX_ROBUST_DRAWS

Factor = Annotated[float, Field(ge=1 / MAX_BELIEVED_FACTOR, le=MAX_BELIEVED_FACTOR)]

Spread = Annotated[float, Field(ge=0, le=MAX_JITTER_SPREAD)]

#: Option of a plan: by what it is chosen over draws of the costs.
RobustMeasure = Annotated[
    Measure | None,
    Field(
        exclude_if=is_unknown,
        description="Choose the plan by the `mean` or `p95` of its times over seeded draws of "
        "start-up, bandwidth, launches and compute, of a program those of each op and launch, too; "
        "null for its time at the stated costs.",
    ),
]

#: Over how many.
Draws = Annotated[
    Annotated[int, Field(ge=1, le=MAX_ROBUST_DRAWS)] | None,
    Field(exclude_if=is_unknown, description="How many draws `robust` takes; null for 50."),
]


class BelievedBody(RequestModel):
    """What is believed of the costs: another cluster, or factors on the true one."""

    cluster: Annotated[
        ClusterBody | None,
        Field(description="The cluster that is believed; null for the true one."),
    ] = None
    startup_factor: Annotated[
        Factor, Field(description="It is believed to have so many times the start-up.")
    ] = 1
    bandwidth_factor: Annotated[
        Factor, Field(description="It is believed to have so many times the bandwidth.")
    ] = 1
    compute_factor: Annotated[
        Factor, Field(description="Compute is believed to take so many times as long.")
    ] = 1
    startup_spread: Annotated[
        Spread,
        Field(
            description="The factor is drawn, log-normal about what is said; this is its standard "
            "deviation as a share."
        ),
    ] = 0
    bandwidth_spread: Annotated[Spread, Field(description="The same of the bandwidth.")] = 0
    compute_spread: Annotated[Spread, Field(description="The same of compute.")] = 0
    seed: Annotated[int, Field(ge=0, le=MAX_SEED, description="Seed of the draws.")] = 0

    def to_belief(self) -> Belief:
        """Return the belief as the solver knows it."""
        return Belief(
            self.cluster.to_cluster() if self.cluster else None,
            self.startup_factor,
            self.bandwidth_factor,
            self.compute_factor,
            self.startup_spread,
            self.bandwidth_spread,
            self.compute_spread,
            self.seed,
        )


#: What decides, where it is not the cluster.
Believed = Annotated[
    BelievedBody | None,
    Field(
        exclude_if=is_unknown,
        description="Costs that policies and plans are decided with; they are executed with those "
        "of `cluster`. Null believes what is true.",
    ),
]


class BelievingRequest(ClusterRequest):
    """A request about a graph on a cluster of which something else may be believed."""

    believed: Believed = None

    def belief(self) -> Belief | None:
        """Return what is believed as the solver knows it; None for what is true."""
        return self.believed.to_belief() if self.believed else None
