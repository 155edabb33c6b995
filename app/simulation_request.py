"""The request body of ``POST /v1/simulations``."""

from typing import Annotated

from pydantic import ConfigDict, FailFast, Field

from app.baselines import Baseline
from app.body import Body
from app.requests import MAX_BASELINES, MAX_OPS, MAX_SEED, GraphBody, GraphRequest, Id
from app.what_if import Changes
from solver.graph import MAX_BYTES
from solver.planning.replay import GivenBucket, GivenPart
from solver.policies.choice import Choice
from solver.simulation.jitter import MAX_RUNS, MAX_SPREAD

MAX_BINS = 10_000
#: Most launches: each is listed, and simulated ten times to explain it.
MAX_SENT = 100_000


class GivenBucketBody(Body):
    """Tensors that are sent as one collective; other fields of an answer are not read."""

    model_config = ConfigDict(extra="ignore")

    id: Id
    tensors: Annotated[list[Id], FailFast(), Field(min_length=1, max_length=MAX_OPS)]


class GivenPartBody(Body):
    """One launch; other fields of an answer are not read."""

    model_config = ConfigDict(extra="ignore")

    bucket: Id
    bytes: Annotated[int, Field(ge=1, le=MAX_BYTES)]


class GivenScheduleBody(Body):
    """The launches in order; those of one channel run in this order."""

    model_config = ConfigDict(extra="ignore")

    parts: Annotated[list[GivenPartBody], FailFast(), Field(max_length=MAX_SENT)]


class GivenPlanBody(Body):
    """A plan: the answer of `POST /v1/plans` as it is, or its `buckets` and `schedule` alone.

    Only what each launch carries and the order of launches count; times are simulated anew.
    """

    model_config = ConfigDict(extra="ignore")

    buckets: Annotated[list[GivenBucketBody], FailFast(), Field(max_length=MAX_OPS)]
    schedule: GivenScheduleBody

    def given(self) -> tuple[list[GivenBucket], list[GivenPart]]:
        """Return buckets and launches by name."""
        return (
            [GivenBucket(bucket.id, tuple(bucket.tensors)) for bucket in self.buckets],
            [GivenPart(part.bucket, part.bytes) for part in self.schedule.parts],
        )


class JitterBody(Body):
    """Many iterations in which each op takes more or less than it should."""

    spread: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_SPREAD,
            description="Standard deviation of each op's factor, log-normal with mean 1.",
        ),
    ]
    seed: Annotated[int, Field(ge=0, le=MAX_SEED, description="Seed of the factors.")] = 0
    runs: Annotated[int, Field(ge=1, le=MAX_RUNS, description="How many iterations.")] = 100
    rivals: Annotated[
        list[Baseline],
        Field(
            max_length=MAX_BASELINES,
            description="Policies that run through the same iterations: how often would they win?",
        ),
    ] = Field(default=["wfbp"], validate_default=True)


class SimulationRequest(GraphRequest):
    """A training iteration on a cluster, under a policy or an explicit plan."""

    graph: GraphBody
    policy: Annotated[
        Baseline | None, Field(description="A policy by name, or an object with its parameters.")
    ] = None
    plan: Annotated[
        GivenPlanBody | None, Field(description="Instead of a policy: what to launch, in order.")
    ] = None
    barrier: Annotated[
        bool,
        Field(description="The next forward pass waits for all last collectives, as in PyTorch."),
    ] = False
    bins: Annotated[
        int, Field(ge=1, le=MAX_BINS, description="Bins over the iteration for bandwidth use.")
    ] = 100
    jitter: Annotated[
        JitterBody | None, Field(description="How the time spreads when ops do not keep theirs.")
    ] = None
    what_if: Changes = Field(default=[])

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return self.barrier

    def to_choice(self) -> Choice | None:
        """Return the policy as the solver knows it; None for an explicit plan."""
        return self.policy.to_choice() if self.policy else None
