"""Jobs beside one another: the request for a plan of a mix, and the answer."""

from typing import Annotated, Any

from pydantic import Field

from app.schemas.base import AnswerModel, Name, OneOf, RequestModel
from app.schemas.clusters import LinkBody
from solver.jobs.profile import Phase
from solver.limits import MAX_MIX_ITERATIONS, MAX_MIX_JOBS, MAX_MIX_LINKS, MAX_MIX_PHASES
from solver.policies import POLICIES

Microseconds = Annotated[float, Field(ge=0, le=1e12)]
Gbps = Annotated[float, Field(gt=0, le=1e9)]
Paths = Annotated[list[Name], Field(max_length=64)]

_NONE: list[Any] = []


class PhaseBody(RequestModel):
    """Compute, then bytes over links."""

    compute_us: Annotated[Microseconds, Field(description="Time of the compute [us].")]
    bytes: Annotated[
        float, Field(ge=0, le=1e18, description="What then crosses each of the links.")
    ] = 0.0
    links: Annotated[Paths, Field(description="Names of the links.")] = _NONE
    bandwidth_gbps: Annotated[
        Gbps | None, Field(description="The most that it has of each; null for all of it.")
    ] = None
    flows: Annotated[
        int,
        Field(
            ge=1,
            le=1_048_576,
            description="How many flows carry these bytes over each link side by side: of a full "
            "link as many have as many shares.",
        ),
    ] = 1

    def to_phase(self) -> Phase:
        """Return the phase as the solver knows it."""
        return Phase(
            self.compute_us, self.bytes, tuple(self.links), self.bandwidth_gbps, self.flows
        )


class MixedJobBody(RequestModel):
    """A job of a mix: its phases, or a simulation of its step."""

    name: Name
    phases: Annotated[
        list[PhaseBody] | None,
        Field(
            min_length=1,
            max_length=MAX_MIX_PHASES,
            description="An iteration, one phase after another; or `simulation`.",
        ),
    ] = None
    simulation: Annotated[
        dict[str, Any] | None,
        Field(
            description="An iteration as `POST /v1/simulations` takes it: `graph`, `cluster`, and "
            "`policy` or `plan`. Paths of its channels may name the links of the mix."
        ),
    ] = None
    alternatives: Annotated[
        list[Annotated[str, OneOf(tuple(POLICIES))]],
        Field(max_length=8, description="Policies that a joint plan may have it run instead."),
    ] = _NONE
    weight: Annotated[
        float, Field(gt=0, le=1e9, description="How much its slow-down counts in the mean.")
    ] = 1.0
    gpus: Annotated[int, Field(ge=1, le=1_048_576, description="For Crux's intensity.")] = 1


class MixRequest(RequestModel):
    """Links, and the jobs that share them."""

    links: Annotated[
        dict[Name, LinkBody],
        Field(min_length=1, max_length=MAX_MIX_LINKS, description="What jobs share, by name."),
    ]
    jobs: Annotated[list[MixedJobBody], Field(min_length=1, max_length=MAX_MIX_JOBS)]
    objective: Annotated[
        str, OneOf(("mean", "worst")), Field(description="Which slow-down a plan makes least.")
    ] = "mean"
    iterations: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_MIX_ITERATIONS,
            description="Of each job in a run, where no pattern repeats before.",
        ),
    ] = 20
    effort: Annotated[
        int, Field(ge=0, le=5_000, description="Runs that a plan is sought with; 0: none.")
    ] = 600
    has_classes: Annotated[
        bool,
        Field(description="Whether links serve higher classes first; else no plan has classes."),
    ] = True
    bins: Annotated[int, Field(ge=1, le=1_000, description="Of each link's use over time.")] = 60


class MixTerms(AnswerModel):
    """How a job runs: what a scheduler or the job has to do."""

    job: str
    offset_us: Annotated[float, Field(description="When its first iteration begins [us].")]
    priority: Annotated[int, Field(description="Class on links; higher ones are served first.")]
    period_us: Annotated[
        float | None,
        Field(
            description="Iteration k begins at the offset and k periods at the earliest [us]; null "
            "for as soon as it can."
        ),
    ]
    policy: Annotated[str | None, Field(description="Instead of its own; null for that.")]


class MixedTime(AnswerModel):
    """How long a job's iteration takes in a mix."""

    job: str
    alone_us: float
    mean_us: float
    p95_us: float
    slowdown: Annotated[float, Field(description="Mean over alone.")]


class MixBlame(AnswerModel):
    """What one job costs another one on a link."""

    job: str
    by: str
    link: str
    delay_us: Annotated[float, Field(description="Of an iteration, in the mean [us].")]
    lost_us: Annotated[
        float, Field(description="By which its transfers are longer, hidden or not [us].")
    ]


class LinkUse(AnswerModel):
    """A link under a rule."""

    link: str
    use: Annotated[list[float], Field(description="Share of the capacity, in equal bins.")]


class JobSending(AnswerModel):
    """A while in which a job sends."""

    begin_us: Annotated[float, Field(description="From the start of the window [us].")]
    end_us: float
    speed: Annotated[float, Field(description="Share of what it sends at alone.")]


class JobOverTime(AnswerModel):
    """A job in the first iterations of the window."""

    job: str
    begins_us: Annotated[
        list[float], Field(description="Its iterations begin, from the start of the window [us].")
    ]
    sends: list[JobSending]


class RuledMixOut(AnswerModel):
    """A mix under a rule, or under the plan."""

    rule: str
    mean: Annotated[float, Field(description="Weighted mean slow-down.")]
    worst: float
    jobs: list[MixedTime]
    terms: list[MixTerms]
    pattern_us: Annotated[
        float | None, Field(description="After this everything repeats; null if nothing did [us].")
    ]
    window_us: Annotated[list[float], Field(description="From when to when it was measured [us].")]
    blames: list[MixBlame]
    links: list[LinkUse]
    told_us: Annotated[
        float,
        Field(
            description="How long `timeline` is [us]: the pattern, or six iterations of the "
            "longest job where that is shorter."
        ),
    ]
    timeline: Annotated[list[JobOverTime], Field(description="When each job sends.")]
    is_cut: Annotated[bool, Field(description="Ended early: a lower class was never served.")]


class MixAnswer(AnswerModel):
    """Jobs beside one another: as they are, under known rules, and planned together."""

    best: Annotated[str, Field(description="`joint`, or the rule that it is no better than.")]
    joint: RuledMixOut
    rules: list[RuledMixOut]
    held: Annotated[
        RuledMixOut | None,
        Field(
            description="The joint plan as jobs hold it, by a period 5 % longer than planned: no "
            "iteration begins late, and there is room before and after; null where it has no "
            "shifts, or the jobs' times do not go together."
        ),
    ]
    mean_bound: Annotated[float, Field(description="No plan's mean is below, in the long run.")]
    worst_bound: float
    loads: Annotated[
        dict[str, float], Field(description="Of each link: share of its time that all jobs need.")
    ]
    estimated: Annotated[
        list[float], Field(description="Slow-downs of a fast estimate, under fair sharing.")
    ]
    estimate_error: Annotated[
        float, Field(description="Nine of ten estimates of drawn mixes were within this, relative.")
    ]
    tolerated_us: Annotated[
        list[float | None],
        Field(
            description="How late each job may begin against the others before the objective is a "
            "hundredth worse [us]; null where a tenth of its iteration changes nothing."
        ),
    ]
    simulations: int
    advice: list[str]
    notes: list[str]
    version: str
