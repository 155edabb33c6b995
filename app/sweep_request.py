"""The request body of ``POST /v1/sweeps``."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated

from pydantic import Field

from app.baselines import BaselineBody, Choices
from app.body import OneOf
from app.cluster import ClusterBody, Gbps, Microseconds, Workers
from app.requests import MAX_BASELINES, MAX_SEED, GraphBody, GraphRequest
from solver.policies.choice import Choice
from solver.prediction.sweep import PLAN

#: Most cells of a sweep.
MAX_CELLS = 4_096
#: Longest time for one plan [s].
MAX_PLAN_S = 60
#: Longest time for a sweep [s].
MAX_SWEEP_S = 3_600
#: The fields that are swept.
AXES = {"workers": "workers", "bandwidths_gbps": "bandwidth_gbps", "startups_us": "startup_us"}


class PlanBaseline(BaselineBody):
    """Our plan: buckets, parts and order chosen together."""

    policy: Annotated[str, OneOf((PLAN,))]


#: A policy as it is posted, or the plan.
Candidate = Annotated[BaselineBody, Choices((PlanBaseline,))]


class SweepRequest(GraphRequest):
    """One training iteration on many clusters, under many policies.

    A cell for each of workers x bandwidth x start-up, in ascending order.
    """

    graph: GraphBody
    cluster: Annotated[
        ClusterBody, Field(description="What is the same in each cell, and where nothing is swept.")
    ]
    workers: Annotated[
        list[Workers],
        Field(
            max_length=MAX_CELLS,
            description="Distinct, in any order; left out, those of the cluster. Channels without "
            "workers of their own follow.",
        ),
    ] = Field(default=[])
    bandwidths_gbps: Annotated[
        list[Gbps],
        Field(
            max_length=MAX_CELLS,
            description="Of the network [Gbit/s], distinct, in any order; left out, that of the "
            "cluster. Other channels keep theirs.",
        ),
    ] = Field(default=[])
    startups_us: Annotated[
        list[Microseconds],
        Field(
            max_length=MAX_CELLS,
            description="Of a launch on the network [us], distinct, in any order; left out, that "
            "of the cluster. Other channels keep theirs.",
        ),
    ] = Field(default=[])
    policies: Annotated[
        list[Candidate],
        Field(
            min_length=1,
            max_length=MAX_BASELINES,
            description="Names, or objects with parameters; `plan` is ours. Of several that are "
            "equally fast, the first is called best.",
        ),
    ] = Field(default=["wfbp", "ddp", "horovod", "mg_wfbp", "pace", "plan"], validate_default=True)
    barrier: Annotated[
        bool,
        Field(description="The next forward pass waits for all last collectives, as in PyTorch."),
    ] = False
    seed: Annotated[
        int, Field(ge=0, le=MAX_SEED, description="Seed of the random moves of the plans.")
    ] = 0
    time_limit_s: Annotated[
        float,
        Field(
            gt=0,
            le=MAX_PLAN_S,
            description="After this time a plan is the best found so far [s].",
        ),
    ] = 2
    sweep_limit_s: Annotated[
        float,
        Field(
            gt=0,
            le=MAX_SWEEP_S,
            description="A sweep that takes longer is given up and answered with an error, its "
            "wait for the processes of another sweep included [s].",
        ),
    ] = 600

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return self.barrier

    def choices(self) -> list[Choice]:
        """Return the policies as the solver knows them."""
        return [policy.to_choice() for policy in self.policies]

    def points(self) -> list[dict[str, float]]:
        """Return what each cell changes of the cluster: workers, bandwidth, start-up ascending."""
        swept = {field: getattr(self, axis) for axis, field in AXES.items()}
        axes = {field: sorted(values) for field, values in swept.items() if values}
        return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]

    def alone(self) -> Iterator[tuple[str, int, ClusterBody]]:
        """Yield a cell's cluster with one field changed to each value, and axis and place of these.

        The cell is the first one with the most workers: one worker alone sends nothing.
        """
        most = max(self.workers, default=self.cluster.workers)
        first = self.cluster.model_copy(update={**self.points()[0], "workers": most})
        for axis, field in AXES.items():
            for i, value in enumerate(getattr(self, axis)):
                yield axis, i, first.model_copy(update={field: value})
