"""Sweeps: the request body of ``POST /v1/sweeps``, and the answer. Unknown is null."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from operator import not_
from typing import Annotated, Any, Literal

from pydantic import Field

from app.limits import MAX_BASELINES, MAX_CELL_TIME_LIMIT_S, MAX_CELLS, MAX_SEED, MAX_SWEEP_LIMIT_S
from app.schemas.base import AnswerModel, OneOf, is_unknown
from app.schemas.believed import Believed, BelievingRequest
from app.schemas.changes import ChangeBody, Changes
from app.schemas.clusters import ClusterBody
from app.schemas.explanations import CostWarning
from app.schemas.graphs import GraphBody
from app.schemas.lists import Status
from app.schemas.networks import Gbps, Microseconds, Workers
from app.schemas.policies import PAIRS, BaselineBody, Choices, named_bodies
from app.schemas.program_options import Bytes, SweptOptions, is_empty
from solver.evidence.evidence import Evidence
from solver.limits import MAX_LAUNCH_TOLERANCE
from solver.policies.choice import Choice
from solver.prediction.knees import Knee
from solver.prediction.sweep import PLAN, CellGain
from solver.programs.policies import POLICIES as PROGRAM_POLICIES
from solver.programs.problem import InputsHeld

#: The fields that are swept.
AXES = {"workers": "workers", "bandwidths_gbps": "bandwidth_gbps", "startups_us": "startup_us"}


class PlanBaseline(BaselineBody):
    """Our plan: buckets, parts and order chosen together."""

    policy: Annotated[str, OneOf((PLAN,))]


#: A policy as it is posted, or the plan.
Candidate = Annotated[BaselineBody, Choices((*named_bodies(PROGRAM_POLICIES), PlanBaseline))]


#: What a sweep of programs compares where nothing is named.
_OF_PROGRAMS = tuple(Choice(name) for name in (*PROGRAM_POLICIES, PLAN))


class SweepRequest(BelievingRequest):
    """One training iteration on many clusters, under many policies.

    A cell for each of workers x bandwidth x start-up, of a program x limit of memory, in ascending
    order.
    """

    graph: GraphBody
    cluster: Annotated[
        ClusterBody, Field(description="What is the same in each cell, and where nothing is swept.")
    ]
    workers: Annotated[
        list[Workers],
        Field(
            max_length=MAX_CELLS,
            description="Worker counts, distinct, in any order; left out, those of the cluster. "
            "Channels without workers of their own follow.",
        ),
    ] = Field(default=[])
    bandwidths_gbps: Annotated[
        list[Gbps],
        Field(
            max_length=MAX_CELLS,
            description="Bandwidths of the network [Gbit/s], distinct, in any order; left out, "
            "that of the cluster. Other channels keep theirs.",
        ),
    ] = Field(default=[])
    startups_us: Annotated[
        list[Microseconds],
        Field(
            max_length=MAX_CELLS,
            description="Start-ups of a launch on the network [us], distinct, in any order; left "
            "out, that of the cluster. Other channels keep theirs.",
        ),
    ] = Field(default=[])
    memory_limits_bytes: Annotated[
        list[Bytes],
        Field(
            max_length=MAX_CELLS,
            description="Limits of memory of a program, distinct, in any order; left out, there is "
            "none.",
        ),
    ] = Field(default=[])
    policies: Annotated[
        list[Candidate],
        Field(
            min_length=1,
            max_length=MAX_BASELINES,
            description="Policies: names, or objects with parameters; `plan` is ours. Of several "
            "that are equally fast, the first is called best. Of a program all its rules and "
            "`plan` unless others are named.",
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
            le=MAX_CELL_TIME_LIMIT_S,
            description="Of the plan of each cell, as of a plan [s]; the summary says what was cut "
            "short.",
        ),
    ] = 10
    launch_tolerance: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_LAUNCH_TOLERANCE,
            description="Plans are those of fewest launches that take at most this share longer "
            "than the best found; a sweep compares times, so it is 0 unless asked for.",
        ),
    ] = 0
    sweep_limit_s: Annotated[
        float,
        Field(
            gt=0,
            le=MAX_SWEEP_LIMIT_S,
            description="A sweep that takes longer, its wait for the processes of another sweep "
            "included, ends with the cells that are done [s].",
        ),
    ] = 600
    options: Annotated[
        SweptOptions, Field(description="Of the programs of all cells, else left out.")
    ] = SweptOptions()
    changes: Annotated[
        Changes, Field(description="What is swept is the graph with these ops changed.")
    ] = Field(default=[])

    @property
    def has_barrier(self) -> bool:
        """Whether the graph gets one more op."""
        return self.barrier

    @property
    def asked_s(self) -> float:
        """The time that its job asks for [s]."""
        return self.sweep_limit_s

    @property
    def asks_for_program(self) -> bool:
        """Whether programs are swept, whatever the graph is."""
        is_rule = any(each.policy in PROGRAM_POLICIES for each in self.policies)
        return is_rule or bool(self.memory_limits_bytes) or not is_empty(self.options)

    def program_choices(self) -> list[Choice]:
        """Return the policies of a sweep of programs."""
        return self.choices() if "policies" in self.model_fields_set else list(_OF_PROGRAMS)

    def choices(self) -> list[Choice]:
        """Return the policies as the solver knows them."""
        return [policy.to_choice() for policy in self.policies]

    def bare_choices(self) -> list[Choice]:
        """Return the policies for a graph that has the sweep's barrier: it needs no second one."""
        own = self.choices()
        return [replace(choice, barrier=False) for choice in own] if self.barrier else own

    def of_cells(self) -> dict[str, Any]:
        """Return what holds in each cell, as :func:`solver.prediction.sweep.cell_of` takes it."""
        return {
            "seed": self.seed,
            "time_limit_s": self.time_limit_s,
            "launch_tolerance": self.launch_tolerance,
            "believed": self.belief(),
        }

    def points(self) -> list[dict[str, float]]:
        """Return what each cell changes of the cluster: workers, bandwidth, start-up ascending."""
        swept = {field: getattr(self, axis) for axis, field in AXES.items()}
        axes = {field: sorted(values) for field, values in swept.items() if values}
        return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]

    def limited_points(self) -> list[dict[str, Any]]:
        """Return the same of programs, at each limit of memory, ascending; None without one."""
        limits: list[int | None] = [*sorted(self.memory_limits_bytes)] or [None]
        pairs = product(self.points(), limits)
        return [{**point, "memory_limit_bytes": limit} for point, limit in pairs]

    def alone(self) -> Iterator[tuple[str, int, ClusterBody]]:
        """Yield a cell's cluster with one field changed to each value, and axis and place of these.

        The cell is the first one with the most workers: one worker alone sends nothing.
        """
        most = max(self.workers, default=self.cluster.workers)
        first = self.cluster.model_copy(update={**self.points()[0], "workers": most})
        for axis, field in AXES.items():
            for i, value in enumerate(getattr(self, axis)):
                yield axis, i, first.model_copy(update={field: value})


class SweepPolicy(AnswerModel):
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
    parameters: Annotated[dict[str, bool | int | float | str], PAIRS]


class SweepCell(AnswerModel):
    """One cluster, and what each policy does on it.

    Notes
    -----
    The solver has one of plans and one of programs, whose times are in the order of policies;
    here they are by label.
    """

    workers: int
    bandwidth_gbps: float | None
    startup_us: float
    compute_time_us: Annotated[
        float, Field(description="An iteration with free communication [us].")
    ]
    lower_bound_us: Annotated[float, Field(description="No plan is faster [us].")]
    iteration_time_us: Annotated[
        dict[str, float | None],
        Field(
            description="Of each policy, by label [us]; null where PACE is not defined, and where "
            "no program of `plan` keeps the limit of memory."
        ),
    ]
    best: Annotated[
        str | None,
        Field(
            description="Label of the fastest that keeps the limit of memory; of equally fast ones "
            "(`fastest`) the first in the request."
        ),
    ]
    fastest: Annotated[
        list[str],
        Field(
            description="Labels of all that are as fast as that, within 0.1 %; empty in sweeps of "
            "earlier versions."
        ),
    ] = Field(default=[])
    gains: Annotated[
        list[CellGain],
        Field(
            description="What the fastest saves over each of what you run; empty in sweeps of "
            "earlier versions."
        ),
    ] = Field(default=[])
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
    evidence: Annotated[
        Evidence | None,
        Field(
            description="What was measured, and below which gain nothing follows; a recorded step "
            "counts on the cluster of the request alone. Null in sweeps of earlier versions."
        ),
    ] = None
    memory_limit_bytes: Annotated[
        int | None, Field(exclude_if=is_unknown, description="Of a program: the limit of memory.")
    ] = None
    peak_bytes: Annotated[
        dict[str, int | None] | None,
        Field(
            exclude_if=is_unknown,
            description="Of programs: the most memory of each policy, by label [bytes]; a rule may "
            "take more than the limit, and is then not called best.",
        ),
    ] = None
    status: Annotated[
        Literal[Status, "infeasible"] | None,
        Field(
            exclude_if=is_unknown,
            description="Of the program of `plan`; `infeasible`: none was found that keeps the "
            "limit of memory.",
        ),
    ] = None
    lost: Annotated[
        str | None,
        Field(
            exclude_if=is_unknown,
            description="Why the cell has no times: its process ended each time it was tried.",
        ),
    ] = None


class SweepAxes(AnswerModel):
    """The values of a sweep, ascending; one value where nothing is swept."""

    workers: list[int]
    bandwidths_gbps: list[float | None]
    startups_us: list[float]
    memory_limits_bytes: Annotated[
        list[int] | None, Field(exclude_if=is_unknown, description="Of programs, where given.")
    ] = None


class SweepRequestOut(AnswerModel):
    """What was asked, defaults filled in; the graph by its hash."""

    cluster: ClusterBody
    believed: Believed = None
    barrier: bool
    seed: int
    time_limit_s: float
    launch_tolerance: float = 0
    sweep_limit_s: float
    options: Annotated[SweptOptions, Field(exclude_if=is_empty)] = SweptOptions()
    changes: Annotated[list[ChangeBody], Field(exclude_if=not_)] = Field(default=[])
    graph_sha256: str


class SweepAnswer(AnswerModel):
    """Cells in the order of workers, bandwidth, start-up and limit of memory, all ascending."""

    runtime_s: Annotated[float, Field(description="Time that the sweep took [s].")]
    name: Annotated[str, Field(description="Name of the graph.")]
    summary: Annotated[list[str], Field(description="What the sweep says, in sentences.")]
    axes: SweepAxes
    policies: list[SweepPolicy]
    cells: list[SweepCell]
    inputs_held: Annotated[
        InputsHeld | None,
        Field(
            exclude_if=is_unknown,
            description="Of programs: until when what a launch reads is held, of every figure of "
            "memory in this answer.",
        ),
    ] = None
    cells_asked: Annotated[
        int | None,
        Field(
            description="How many cells were asked for: more than there are when the sweep was "
            "cancelled, which keeps those that were done. Null in sweeps of earlier versions."
        ),
    ] = None
    knees: Annotated[
        list[Knee],
        Field(
            description="From where on more bandwidth, or more workers, gain nothing: for each "
            "policy along each row of two cells or more; with several limits of memory only from "
            "where on more memory gains nothing. Empty where cells are missing."
        ),
    ]
    evidence: Annotated[
        Evidence | None,
        Field(
            description="Of the cell where a gain must be largest to follow. Null in sweeps of "
            "earlier versions."
        ),
    ] = None
    warnings: Annotated[
        list[CostWarning],
        Field(
            description="What the cells rest on that was not measured; sizes are those of the "
            "tensors alone."
        ),
    ]
    request: SweepRequestOut
    version: str
