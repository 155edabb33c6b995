"""How to plan: the options of ``POST /v1/plans``."""

import operator
from typing import Annotated

from pydantic import Field

from app.limits import (
    MAX_BASELINES,
    MAX_CHANGES,
    MAX_EFFORT,
    MAX_MEMORY_LIMITS,
    MAX_SEED,
    MAX_TIME_LIMIT_S,
    MIN_SLOT_US,
)
from app.schemas.base import OneOf, RequestModel, is_unknown
from app.schemas.believed import Draws, RobustMeasure
from app.schemas.policies import BaselineBody, Choices, named_bodies
from app.schemas.program_options import (
    Bytes,
    CopyGbps,
    HeldInputs,
    MarginUs,
    MaxBucketBytes,
    MaxBytesUnderWay,
    MemoryLimit,
)
from solver.evidence.robustness import RobustOptions
from solver.fusion.layered import FUSIONS
from solver.limits import MAX_DURATION_US, MAX_LAUNCH_TOLERANCE, MAX_PROVE_S
from solver.planning.options import Options
from solver.programs.policies import POLICIES as PROGRAM_POLICIES
from solver.schedule import SCHEDULERS
from solver.watchdog import TIME_LIMIT_S

#: A policy of a plan, with those of programs.
PlanPolicyBody = Annotated[BaselineBody, Choices(named_bodies(PROGRAM_POLICIES))]


#: Shell pattern of op ids; ``!`` before it excludes them.
OpPattern = Annotated[str, Field(min_length=1, max_length=512)]


#: Options that make a plan one of a program.
_OF_PROGRAMS = (
    "memory_limit_bytes",
    "memory_limits_bytes",
    "more_memory_bytes",
    "copy_gbps",
    "max_bucket_bytes",
    "max_bytes_under_way",
    "margin_us",
    "inputs_held",
    "recompute",
)


class OptionsBody(RequestModel):
    """How to plan; every field may be left out."""

    fusion: Annotated[
        str,
        OneOf(tuple(FUSIONS)),
        Field(
            description="`joint`: buckets, parts and order chosen together, never worse than any "
            "policy; `maxmin`: PACE's Algorithm 1; `maxmin_momentum`: the same for some numbers of "
            "buckets, chosen by chance and slope; `none`: each tensor alone."
        ),
    ] = "joint"
    schedule: Annotated[
        str,
        OneOf(tuple(SCHEDULERS)),
        Field(
            description="`jackson`: exact, continuous time; `lp`: time slots, HiGHS. The fusion "
            "`joint` brings its own order, so there it only decides how the slots are solved."
        ),
    ] = "jackson"
    slot_us: Annotated[
        Annotated[float, Field(ge=MIN_SLOT_US, le=MAX_DURATION_US)] | None,
        Field(description="Length of a slot [us]; null chooses one."),
    ] = None
    baselines: Annotated[
        list[PlanPolicyBody],
        Field(
            max_length=MAX_BASELINES,
            description="Policies of today to compare with: names, or objects with parameters; of "
            "a program all its rules unless others are named.",
        ),
    ] = Field(default=["wfbp", "pace"], validate_default=True)
    barrier: Annotated[
        bool,
        Field(description="The next forward pass waits for all collectives, as in PyTorch."),
    ] = False
    seed: Annotated[
        int, Field(ge=0, le=MAX_SEED, description="Seed of the random moves of `joint`.")
    ] = 0
    effort: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_EFFORT,
            description="Multiplies the moves of the search: more take longer, and may find a "
            "better plan.",
        ),
    ] = 1
    time_limit_s: Annotated[
        float,
        Field(
            gt=0,
            le=MAX_TIME_LIMIT_S,
            description="After so much CPU time, or twice that on the clock, a watchdog has the "
            "best plan so far answered, with the warning `search_cut_short` [s]. Else the number "
            "of moves ends a search, so that the same request has the same plan on every machine.",
        ),
    ] = TIME_LIMIT_S
    launch_tolerance: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_LAUNCH_TOLERANCE,
            description="`joint` answers with the plan of fewest launches that it finds to take at "
            "most this share longer than the best one; 0 answers with the best one. Of a program, "
            "buckets are merged.",
        ),
    ] = 0.001
    prove_s: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_PROVE_S,
            description="Once the plan is there its bound is raised for so long, as counted in "
            "work that takes about that on a core of 2023 [s]; a better plan that is found on the "
            "way is the answer. `joint` alone, where nothing slows down what runs beside it. Where "
            "collectives come after others, of up to 30 at affine costs; else a warning says why "
            "nothing was done (`proof_not_tried`).",
        ),
    ] = 0
    robust: RobustMeasure = None
    draws: Draws = None

    memory_limit_bytes: MemoryLimit = None
    memory_limits_bytes: Annotated[
        Annotated[list[Bytes], Field(min_length=1, max_length=MAX_MEMORY_LIMITS)] | None,
        Field(
            exclude_if=is_unknown,
            description="Several such limits: `front` has a plan of each, the rest of the answer "
            "is that of the largest.",
        ),
    ] = None
    more_memory_bytes: Annotated[
        Annotated[list[Bytes], Field(min_length=1, max_length=MAX_MEMORY_LIMITS)] | None,
        Field(
            exclude_if=is_unknown,
            description="Plan also with so much more than `memory_limit_bytes`, to say what that "
            "would save; these plans and a what-if share the moves of a search.",
        ),
    ] = None
    copy_gbps: CopyGbps = None
    max_bucket_bytes: MaxBucketBytes = None
    max_bytes_under_way: MaxBytesUnderWay = None
    margin_us: MarginUs = None
    inputs_held: HeldInputs = None
    recompute: Annotated[
        Annotated[list[OpPattern], Field(min_length=1, max_length=MAX_CHANGES)] | None,
        Field(
            exclude_if=is_unknown,
            description="Ops of compute that may run twice where `memory_limit_bytes` costs time: "
            "what they wrote is freed after an early reader and computed again before a late one. "
            "Shell patterns of op ids; those that match one that begins with `!` run once. Name "
            "no op that is random, writes in place, or reads what another overwrites.",
            examples=[["*", "!dropout*"]],
        ),
    ] = None
    host_order: Annotated[
        bool,
        Field(
            exclude_if=operator.not_,
            description="Plan a program, what one rank's host asks for in order, whatever the "
            "graph is.",
        ),
    ] = False

    def of_programs(self) -> list[str]:
        """Name the options that were given and ask for a program."""
        given = [name for name in _OF_PROGRAMS if getattr(self, name) is not None]
        return [*given, *(["host_order"] if self.host_order else [])]

    def to_options(self) -> Options:
        """Return the options as the solver knows them."""
        return Options(
            fusion=self.fusion,
            schedule=self.schedule,
            slot_us=self.slot_us,
            baselines=tuple(baseline.to_choice() for baseline in self.baselines),
            barrier=self.barrier,
            seed=self.seed,
            time_limit_s=self.time_limit_s,
            effort=self.effort,
            launch_tolerance=self.launch_tolerance,
            prove_s=self.prove_s,
            robust=self.to_robust(),
        )

    def to_robust(self) -> RobustOptions | None:
        """Return how to choose by draws; None where the stated costs decide."""
        if self.robust is None:
            return None
        given = {} if self.draws is None else {"draws": self.draws}
        return RobustOptions(self.robust, seed=self.seed, **given)
