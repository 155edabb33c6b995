"""Which of the service's answers the client has as classes, and which of their fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class AnswerClass:
    """A class of the client.

    Attributes
    ----------
    name
        Of the class.
    components
        Of the OpenAPI document: the first describes the fields, of all of them it is made.
    fields
        In the order of the class, those that a launcher needs. ``x!`` is never None: without it
        there is no answer yet. ``x?`` may be left out by a service and by who makes one; its
        default is that of OpenAPI, else None or nothing in it. ``raw`` is the whole object.
    doc
        What it is, where that is not what OpenAPI says of the component.
    needs
        Fields without which there is no answer yet.
    places
        Where a field is, if not under its own name: ``schedule/parts``.
    pairs
        Fields of an array's objects that are key and value of a mapping.
    defaults
        Those that OpenAPI does not say.
    whether
        Properties: a name, its sentence, and the state in which it holds.
    """

    name: str
    components: str
    fields: str
    doc: str = ""
    needs: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    pairs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    whether: tuple[tuple[str, str, str], ...] = ()


_TIMES = "iteration_time_us! compute_time_us!"
_SENT = "runtime_s! buckets! parts!"
_SPEEDS = "lin_examples_per_s cynthia_examples_per_s bound_examples_per_s"
_PROGRESS = (
    *("phase", "completed", "total", "incumbent_us", "lower_bound_us", "gap", "heartbeat_at"),
    "incumbent",
)

#: A class of a component comes before those whose fields it is of.
ANSWERS = (
    AnswerClass("Fault", "FaultOut", "pointer code detail"),
    AnswerClass(
        "Failure",
        "JobError",
        "status code detail faults?",
        doc="Why a job failed: HTTP status, code, sentence, and the faults of its request.",
        places={"faults": "errors"},
    ),
    AnswerClass(
        "Progress",
        "JobEntry",
        " ".join(("job_id state", *(f"{name}?" for name in _PROGRESS))),
        doc="How far a job is; what it does not say is None.",
        places={"job_id": "id", **{name: f"progress/{name}" for name in _PROGRESS}},
    ),
    AnswerClass(
        "Bucket",
        "BucketOut",
        "id tensors bytes kind channel release_us tail_us",
        doc="Tensors that are sent as one collective.",
    ),
    AnswerClass("Part", "Part", "bucket start_us end_us offset_bytes bytes"),
    AnswerClass(
        "Baseline",
        "BaselineOut",
        "policy iteration_time_us speedup headroom? barrier? parameters?",
        doc="What a policy of today takes on the same graph.",
    ),
    AnswerClass(
        "Plan",
        "PlanOut",
        f"id state status! {_TIMES} lower_bound_us! gap scaling_factor exposed_us! overlap "
        f"{_SENT} baselines! raw summary? limited_by? best_time_us? headline? evidence?",
        doc="Which tensors travel together and in which order, with the proof of how good that is.",
        needs=("iteration_time_us", "buckets"),
        places={"parts": "schedule/parts"},
    ),
    AnswerClass(
        "Simulation",
        "SimulationOut",
        f"id state {_TIMES} scaling_factor exposed_us! overlap {_SENT} raw summary? limited_by? "
        "evidence?",
        doc="One iteration under a policy, or under a plan that was given.",
        needs=("iteration_time_us", "buckets"),
        places={"parts": "schedule/parts"},
    ),
    AnswerClass(
        "Cell",
        "SweepCell",
        "workers bandwidth_gbps startup_us compute_time_us lower_bound_us iteration_time_us best "
        "scaling_factor speed memory_limit_bytes? peak_bytes? status? fastest? gains?",
        doc="One cluster of a sweep, and what each policy takes on it, by label.",
    ),
    AnswerClass(
        "Sweep",
        "SweepOut",
        "id state runtime_s! summary! cells! raw evidence?",
        doc="Cells in the order of workers, then bandwidth, then start-up, all ascending.",
        needs=("cells",),
    ),
    AnswerClass(
        "ThroughputRow",
        "ThroughputRow",
        "bandwidth_gbps workers examples_per_s low_examples_per_s high_examples_per_s step_us "
        f"limited_by {_SPEEDS} utilisation? gains?",
        doc="""\
So many workers at a bandwidth, training through parameter servers.

``utilisation`` has the share of each resource that is used; ``gains`` what each kind of
resource gains when it is twice as fast, as a share.""",
        places={"gains": "what_if"},
        pairs={"utilisation": ("resource", "share"), "gains": ("resource", "gain")},
    ),
    AnswerClass(
        "Knee",
        "ThroughputKnee",
        "bandwidth_gbps workers ceiling_examples_per_s text",
        doc="From how many workers on more of them gain nothing at a bandwidth.",
    ),
    AnswerClass(
        "Throughput",
        "ParameterServerOut",
        "id state runtime_s! rows! knees! notes! raw",
        doc="Training through parameter servers: rows, and a knee for each bandwidth.",
        needs=("rows",),
    ),
    AnswerClass(
        "ShapeRow",
        "ShapeRow",
        "name time_us predicted_us low_us high_us memory_bytes bubble_us tokens_per_s_per_gpu mfu "
        "price_per_billion_tokens why raw",
        doc="A shape with its figures; ``raw`` has its parts, its launch arguments and its plan.",
    ),
    AnswerClass(
        "Ranking",
        "RankingOut",
        "id state best! front! shapes! too_large! simulated! cut! is_proven! lower_bound_us "
        "notes! raw",
        doc="The best shapes of a job, the fastest first, and what is proven of the others.",
        needs=("best",),
    ),
    AnswerClass(
        "Placement",
        "PlacementRow",
        "placement servers bandwidth_gbps simulated_gbps bytes_per_step busiest is_hidden headroom "
        "most_workers exchange_us simulated_exchange_us iteration_bound_us text limited_by?",
        doc="""\
One way to place parameter servers: ``ncc``, ``cc``, ``ncs`` or ``cs``.

What follows ``busiest`` is None unless a bandwidth was asked about.""",
    ),
    AnswerClass("SharedJob", "SharedJob", "name alone_us together_us slowdown"),
    AnswerClass("ChunkPoint", "ChunkPoint", "chunk_bytes exchange_us"),
    AnswerClass("ChunkCurve", "ChunkCurve", "placement best_chunk_bytes points"),
    AnswerClass("SystemTime", "SystemTime", "system placement hosts exchange_us step_us speedup"),
    AnswerClass(
        "Placements",
        "PlacementsAnswer",
        "placements chunks racks prices jobs notes raw chunk_curves? systems? systems_text?",
        doc="The four ways to place parameter servers, and what was asked besides.",
    ),
    AnswerClass(
        "Step",
        "RunStepBody RunStep",
        "step plan measured_us predicted_us? ready_spread_us? note?",
        doc="One step of a run, as it is reported and as it is told.",
    ),
    AnswerClass("PredictionError", "PredictionError", "median p95"),
    AnswerClass(
        "RunPlan",
        "RunPlanHistory",
        "index from_step why plan_id predicted_us buckets launches steps? measured_us? error?",
        doc="A plan of a run; how its steps went is None where that was not asked for.",
        defaults={"steps": None},
    ),
    AnswerClass("RunArm", "RunArm", "name is_plan median_us"),
    AnswerClass(
        "RunTrial",
        "RunTrial",
        "before_step arms kept promised gain gain_low gain_high why",
    ),
    AnswerClass(
        "Run",
        "RunOut RunSummary",
        "id name state workers barrier runtime created_at reported_at ended_at ended_why steps "
        "last_step raw error? plans? trials? every? history?",
        doc="""\
A run as the service told it last; times of day are ISO 8601.

A list has neither plans nor history.""",
        defaults={"every": 1},
        whether=(("has_ended", "Whether nothing more will be added to it.", "ended"),),
    ),
    AnswerClass(
        "RunPage",
        "RunList",
        "runs next_cursor",
        doc="Runs of a list, the newest first, and the cursor of the next page; None on the last.",
    ),
)
