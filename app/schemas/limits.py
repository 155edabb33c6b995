"""The answer of ``GET /v1/limits``."""

from typing import Annotated

from pydantic import BaseModel, Field

from app.limits import (
    BIG,
    DETAIL,
    ENOUGH,
    HEAD_S,
    IDLE_S,
    KEY_HOURS,
    LEAST_RATE,
    LIMIT_S,
    MAX_ALL_LAUNCHES,
    MAX_ATTEMPTS,
    MAX_BASELINES,
    MAX_BINS,
    MAX_BUFFERS,
    MAX_CELLS,
    MAX_CHANGES,
    MAX_CHANNELS,
    MAX_COLLECTIVES,
    MAX_COUNTS,
    MAX_EDGES,
    MAX_FACTOR,
    MAX_FAULTS,
    MAX_GBPS,
    MAX_JITTER_STEPS,
    MAX_KEY,
    MAX_KEYS,
    MAX_LAYERS,
    MAX_LISTED,
    MAX_NAME,
    MAX_OPS,
    MAX_PLAN_S,
    MAX_PLANNING_S,
    MAX_POINTS,
    MAX_SAMPLES,
    MAX_SECONDS,
    MAX_SEED,
    MAX_SENT,
    MAX_STEPS,
    MAX_SWEEP_S,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEXT,
    MAX_US,
    MAX_VALUES,
    MAX_WAIT_S,
    MAX_WORKERS,
    MIN_GBPS,
    MIN_SLOT_US,
)
from solver.graph import MAX_BYTES, MAX_DURATION_US
from solver.policies.choice import MAX_LAUNCHES
from solver.schedule.lp import MAX_JOBS
from solver.schedule.slots import MAX_SLOTS
from solver.simulation.jitter import MAX_RUNS, MAX_SPREAD


class GraphLimits(BaseModel):
    """Of a graph."""

    ops: Annotated[int, Field(description="Ops; a barrier counts as one.")] = MAX_OPS
    collectives: Annotated[int, Field(description="Ops that are collectives.")] = MAX_COLLECTIVES
    edges: Annotated[int, Field(description="Entries of all `after` lists.")] = MAX_EDGES
    bytes: Annotated[int, Field(description="Bytes of all collectives together.")] = MAX_BYTES
    duration_us: Annotated[float, Field(description="Duration of an op [us].")] = MAX_DURATION_US
    detail: Annotated[
        int,
        Field(
            description="Ops and edges of a graph whose ops are told apart; beyond, compute ops "
            "side by side or in a row count as one, the fused graph is left out, and if more are "
            "left even so, nothing is explained."
        ),
    ] = DETAIL
    name_characters: Annotated[
        int, Field(description="Characters of a name: of a graph, an op, a channel, a stream.")
    ] = MAX_NAME


class ClusterLimits(BaseModel):
    """Of a cluster."""

    workers: Annotated[int, Field(description="Workers.")] = MAX_WORKERS
    channels: Annotated[int, Field(description="Channels besides the network.")] = MAX_CHANNELS
    table_points: Annotated[int, Field(description="Points of a table.")] = MAX_POINTS
    least_gbps: Annotated[float, Field(description="Least bandwidth [Gbit/s].")] = MIN_GBPS
    most_gbps: Annotated[float, Field(description="Most bandwidth [Gbit/s].")] = MAX_GBPS
    startup_us: Annotated[float, Field(description="Start-up, and cost of a hop [us].")] = MAX_US


class OptionLimits(BaseModel):
    """Of the options."""

    baselines: Annotated[int, Field(description="Baselines.")] = MAX_BASELINES
    launches_of_a_baseline: Annotated[
        int, Field(description="Launches of one run of a baseline.")
    ] = MAX_LAUNCHES
    launches_of_all_baselines: Annotated[
        int, Field(description="Launches of all runs of all baselines.")
    ] = MAX_ALL_LAUNCHES
    slots: Annotated[int, Field(description="Slots of a schedule.")] = MAX_SLOTS
    least_slot_us: Annotated[float, Field(description="Shortest slot [us].")] = MIN_SLOT_US
    lp_buckets: Annotated[int, Field(description="Buckets with the schedule `lp`.")] = MAX_JOBS
    seed: Annotated[int, Field(description="Seed.")] = MAX_SEED
    time_limit_s: Annotated[float, Field(description="Time limit [s].")] = MAX_SECONDS


class SimulationLimits(BaseModel):
    """Of a simulation, and of a what-if."""

    launches: Annotated[int, Field(description="Launches of the policy, parts of a plan.")] = (
        MAX_SENT
    )
    bins: Annotated[int, Field(description="Bins of the use over time.")] = MAX_BINS
    runs: Annotated[int, Field(description="Runs with jitter.")] = MAX_RUNS
    spread: Annotated[float, Field(description="Spread of the jitter.")] = MAX_SPREAD
    jitter_steps: Annotated[
        int, Field(description="Ops and launches over all runs and policies.")
    ] = MAX_JITTER_STEPS
    changes: Annotated[int, Field(description="Changes of a what-if.")] = MAX_CHANGES
    factor: Annotated[float, Field(description="Factor of a change.")] = MAX_FACTOR


class PredictionLimits(BaseModel):
    """Of a prediction."""

    layers: Annotated[int, Field(description="Layers.")] = MAX_LAYERS
    workers: Annotated[int, Field(description="Worker counts.")] = MAX_COUNTS
    buffers: Annotated[int, Field(description="Fusion buffers.")] = MAX_BUFFERS


class SweepLimits(BaseModel):
    """Of a sweep."""

    cells: Annotated[int, Field(description="Workers x bandwidths x start-ups.")] = MAX_CELLS
    steps: Annotated[int, Field(description="Ops and launches over all cells and policies.")] = (
        MAX_STEPS
    )
    time_limit_s: Annotated[float, Field(description="Time limit of a plan [s].")] = MAX_PLAN_S
    sweep_limit_s: Annotated[float, Field(description="Time limit of a sweep [s].")] = MAX_SWEEP_S
    planning_s: Annotated[float, Field(description="Time limits of all plans together [s].")] = (
        MAX_PLANNING_S
    )


class CostModelLimits(BaseModel):
    """Of a cost model."""

    samples: Annotated[int, Field(description="Samples that are posted.")] = MAX_SAMPLES
    text_characters: Annotated[int, Field(description="Text of a benchmark.")] = MAX_TEXT


class JobLimits(BaseModel):
    """Of jobs."""

    wait_s: Annotated[float, Field(description="How long a call waits [s].")] = MAX_WAIT_S
    tags: Annotated[int, Field(description="Tags of one call.")] = MAX_TAGS
    tag_characters: Annotated[int, Field(description="Characters of a tag.")] = MAX_TAG
    key_characters: Annotated[int, Field(description="Characters of an idempotency key.")] = MAX_KEY
    key_h: Annotated[float, Field(description="How long an idempotency key counts [h].")] = (
        KEY_HOURS
    )
    attempts: Annotated[int, Field(description="Times that the process of a job may die.")] = (
        MAX_ATTEMPTS
    )
    limit_s: Annotated[float, Field(description="Time of a simulation, or an import [s].")] = (
        LIMIT_S
    )
    grace_s: Annotated[
        float, Field(description="What a job may take besides its own time limit [s].")
    ]
    memory_bytes: Annotated[int, Field(description="Memory of a job's process [bytes].")]
    at_once: Annotated[
        int, Field(description="Plans, simulations and imports at work at once; of sweeps one.")
    ]
    queued: Annotated[int, Field(description="Jobs that may wait.")]
    retention_days: Annotated[float, Field(description="Kept so long after their end [days].")]


class BodyLimits(BaseModel):
    """Of a request as it is sent, and of what the service holds."""

    bytes: Annotated[int, Field(description="Longest body [bytes].")]
    big_bytes: Annotated[
        int, Field(description="Longer bodies are held by `at_once` requests; others wait.")
    ] = BIG
    at_once: Annotated[int, Field(description="Requests that are worked on at once.")]
    idle_s: Annotated[float, Field(description="Pause within a body [s].")] = IDLE_S
    least_bytes_per_s: Annotated[
        int, Field(description="Least speed of a body after that time, on average [bytes/s].")
    ] = LEAST_RATE
    head_s: Annotated[float, Field(description="Time for the head of a request [s].")] = HEAD_S
    object_fields: Annotated[int, Field(description="Fields of an object that are read.")] = (
        MAX_KEYS
    )
    values: Annotated[
        int, Field(description="Values of a body that does not fit, to find its faults.")
    ] = MAX_VALUES
    faults_sought: Annotated[int, Field(description="Faults of one sort.")] = ENOUGH
    faults_listed: Annotated[int, Field(description="Faults in an answer.")] = MAX_FAULTS
    results_listed: Annotated[int, Field(description="Results in a list.")] = MAX_LISTED


class Limits(BaseModel):
    """The most of everything, where the name does not say the least."""

    graph: GraphLimits = GraphLimits()
    cluster: ClusterLimits = ClusterLimits()
    options: OptionLimits = OptionLimits()
    simulation: SimulationLimits = SimulationLimits()
    prediction: PredictionLimits = PredictionLimits()
    sweep: SweepLimits = SweepLimits()
    cost_model: CostModelLimits = CostModelLimits()
    job: JobLimits
    body: BodyLimits
