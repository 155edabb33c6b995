"""The answer of ``GET /v1/limits``."""

from typing import Annotated

from pydantic import BaseModel, Field

from app import limits
from solver import limits as solver_limits


class GraphLimits(BaseModel):
    """Of a graph."""

    ops: Annotated[int, Field(description="Ops; a barrier counts as one.")] = limits.MAX_OPS
    collectives: Annotated[int, Field(description="Ops that are collectives.")] = (
        limits.MAX_COLLECTIVES
    )
    simulated_collectives: Annotated[
        int, Field(description="The same where the graph is simulated, not planned.")
    ] = limits.MAX_SIMULATED_COLLECTIVES
    edges: Annotated[int, Field(description="Entries of all `after` lists.")] = limits.MAX_EDGES
    bytes: Annotated[int, Field(description="Bytes of all collectives together.")] = (
        solver_limits.MAX_BYTES
    )
    duration_us: Annotated[float, Field(description="Duration of an op [us].")] = (
        solver_limits.MAX_DURATION_US
    )
    detail: Annotated[
        int,
        Field(
            description="Ops and edges of a graph whose ops are told apart; beyond, compute ops "
            "side by side or in a row count as one, the fused graph is left out, and if more are "
            "left even so, nothing is explained."
        ),
    ] = limits.MAX_UNMERGED
    program_ops: Annotated[
        int, Field(description="Ops of a graph with buffers or streams of free order.")
    ] = limits.MAX_PROGRAM_OPS
    buffers: Annotated[int, Field(description="Buffers.")] = limits.MAX_BUFFERS
    reads: Annotated[int, Field(description="Entries of all `read_by` lists.")] = limits.MAX_READS
    name_characters: Annotated[
        int, Field(description="Characters of a name: of a graph, an op, a channel, a stream.")
    ] = limits.MAX_NAME_CHARACTERS


class ClusterLimits(BaseModel):
    """Of a cluster."""

    workers: Annotated[int, Field(description="Workers.")] = solver_limits.MAX_WORKERS
    channels: Annotated[int, Field(description="Channels besides the network.")] = (
        limits.MAX_CHANNELS
    )
    links: Annotated[int, Field(description="Links that channels may cross.")] = limits.MAX_LINKS
    path_links: Annotated[int, Field(description="Links of a channel's path.")] = (
        limits.MAX_PATH_LINKS
    )
    priority: Annotated[int, Field(description="Class of a channel on its links.")] = (
        limits.MAX_PRIORITY
    )
    table_points: Annotated[int, Field(description="Points of a table.")] = (
        solver_limits.MAX_TABLE_SIZES
    )
    compute_slowdown: Annotated[
        float, Field(description="Times as long that compute takes beside communication.")
    ] = solver_limits.MAX_COMPUTE_SLOWDOWN
    least_gbps: Annotated[float, Field(description="Least bandwidth [Gbit/s].")] = (
        solver_limits.MIN_BANDWIDTH_GBPS
    )
    most_gbps: Annotated[float, Field(description="Most bandwidth [Gbit/s].")] = (
        solver_limits.MAX_BANDWIDTH_GBPS
    )
    startup_us: Annotated[float, Field(description="Start-up, and cost of a hop [us].")] = (
        solver_limits.MAX_STARTUP_US
    )


class OptionLimits(BaseModel):
    """Of the options."""

    baselines: Annotated[int, Field(description="Baselines.")] = limits.MAX_BASELINES
    launches_of_a_baseline: Annotated[
        int, Field(description="Launches of one run of a baseline.")
    ] = solver_limits.MAX_POLICY_LAUNCHES
    launches_of_all_baselines: Annotated[
        int, Field(description="Launches of all runs of all baselines.")
    ] = limits.MAX_BASELINES_LAUNCHES
    slots: Annotated[int, Field(description="Slots of a schedule.")] = solver_limits.MAX_SLOTS
    least_slot_us: Annotated[float, Field(description="Shortest slot [us].")] = limits.MIN_SLOT_US
    lp_buckets: Annotated[int, Field(description="Buckets with the schedule `lp`.")] = (
        solver_limits.MAX_LP_BUCKETS
    )
    seed: Annotated[int, Field(description="Seed.")] = limits.MAX_SEED
    effort: Annotated[int, Field(description="Effort of a search.")] = limits.MAX_EFFORT
    time_limit_s: Annotated[float, Field(description="Time limit [s].")] = limits.MAX_TIME_LIMIT_S


class SimulationLimits(BaseModel):
    """Of a simulation, and of a what-if."""

    launches: Annotated[int, Field(description="Launches of the policy, parts of a plan.")] = (
        limits.MAX_SIMULATED_LAUNCHES
    )
    bins: Annotated[int, Field(description="Bins of the use over time.")] = limits.MAX_BINS
    runs: Annotated[int, Field(description="Runs with jitter.")] = solver_limits.MAX_JITTER_RUNS
    spread: Annotated[float, Field(description="Spread of the jitter.")] = (
        solver_limits.MAX_JITTER_SPREAD
    )
    jitter_steps: Annotated[
        int, Field(description="Ops and launches over all runs and policies.")
    ] = limits.MAX_JITTER_STEPS
    changes: Annotated[int, Field(description="Changes of a what-if.")] = limits.MAX_CHANGES
    factor: Annotated[float, Field(description="Factor of a change.")] = limits.MAX_CHANGE_FACTOR


class PredictionLimits(BaseModel):
    """Of a prediction."""

    layers: Annotated[int, Field(description="Layers.")] = limits.MAX_LAYERS
    workers: Annotated[int, Field(description="Worker counts.")] = limits.MAX_WORKER_COUNTS
    buffers: Annotated[int, Field(description="Fusion buffers.")] = limits.MAX_FUSION_BUFFERS


class PlacementLimits(BaseModel):
    """Of placements of parameter servers."""

    keys: Annotated[int, Field(description="Keys of a model.")] = limits.MAX_KEYS
    chunks: Annotated[int, Field(description="Chunks that they are cut into.")] = (
        limits.MAX_PLACED_CHUNKS
    )
    cores: Annotated[int, Field(description="Cores of all servers together.")] = (
        solver_limits.MAX_SERVER_CORES
    )
    transfers: Annotated[int, Field(description="Pushes and pulls of one simulation.")] = (
        solver_limits.MAX_SIMULATED_TRANSFERS
    )
    all_transfers: Annotated[
        int, Field(description="Pushes and pulls of all simulations of an answer.")
    ] = limits.MAX_PLACEMENT_TRANSFERS
    jobs: Annotated[int, Field(description="Jobs that share a server.")] = limits.MAX_SHARING_JOBS
    chunk_sizes: Annotated[int, Field(description="Sizes of chunks that are tried.")] = (
        limits.MAX_CHUNK_SIZES
    )
    oversubscriptions: Annotated[
        int, Field(description="Racks with a PHub whose prices are compared.")
    ] = limits.MAX_OVERSUBSCRIPTIONS


class SweepLimits(BaseModel):
    """Of a sweep."""

    cells: Annotated[int, Field(description="Workers x bandwidths x start-ups.")] = limits.MAX_CELLS
    steps: Annotated[int, Field(description="Ops and launches over all cells and policies.")] = (
        limits.MAX_SWEEP_STEPS
    )
    time_limit_s: Annotated[float, Field(description="Time limit of a plan [s].")] = (
        limits.MAX_CELL_TIME_LIMIT_S
    )
    sweep_limit_s: Annotated[float, Field(description="Time limit of a sweep [s].")] = (
        limits.MAX_SWEEP_LIMIT_S
    )
    planning_s: Annotated[float, Field(description="Time limits of all plans together [s].")] = (
        limits.MAX_SWEEP_PLANNING_S
    )


class ParameterServerLimits(BaseModel):
    """Of a prediction of training through parameter servers."""

    profiled_steps: Annotated[int, Field(description="Profiled steps.")] = limits.MAX_PROFILED_STEPS
    ops: Annotated[int, Field(description="Ops of all profiled steps.")] = limits.MAX_STEP_OPS
    edges: Annotated[int, Field(description="Entries of all their `after` lists.")] = (
        limits.MAX_STEP_EDGES
    )
    servers: Annotated[int, Field(description="Servers.")] = solver_limits.MAX_SERVERS
    worker_counts: Annotated[int, Field(description="Worker counts.")] = limits.MAX_WORKER_COUNTS
    workers: Annotated[int, Field(description="Workers.")] = solver_limits.MAX_PREDICTED_WORKERS
    bandwidths: Annotated[int, Field(description="Bandwidths.")] = limits.MAX_BANDWIDTHS
    simulated_steps: Annotated[int, Field(description="Steps that each worker does.")] = (
        solver_limits.MAX_PREDICTED_STEPS
    )
    services: Annotated[
        int,
        Field(
            description="Services to simulate in all rows, what-ifs included: an op is one, a "
            "transfer beyond the window two."
        ),
    ] = limits.MAX_SERVICES
    timeline_steps: Annotated[int, Field(description="Steps of a worker in a timeline.")] = (
        limits.MAX_TIMELINE_STEPS
    )
    timeline_services: Annotated[int, Field(description="Services in a timeline.")] = (
        limits.MAX_TIMELINE_SERVICES
    )
    timeline_simulated: Annotated[
        int, Field(description="Services that are simulated for it, up to its last step.")
    ] = limits.MAX_TIMELINE_SIMULATED


class CostModelLimits(BaseModel):
    """Of a cost model."""

    samples: Annotated[int, Field(description="Samples that are posted.")] = (
        solver_limits.MAX_SAMPLES
    )
    text_characters: Annotated[int, Field(description="Text of a benchmark.")] = (
        limits.MAX_TEXT_CHARACTERS
    )


class JobLimits(BaseModel):
    """Of jobs."""

    wait_s: Annotated[float, Field(description="How long a call waits [s].")] = limits.MAX_WAIT_S
    tags: Annotated[int, Field(description="Tags of one call.")] = limits.MAX_CALL_TAGS
    tag_characters: Annotated[int, Field(description="Characters of a tag.")] = (
        limits.MAX_TAG_CHARACTERS
    )
    key_characters: Annotated[int, Field(description="Characters of an idempotency key.")] = (
        limits.MAX_KEY_CHARACTERS
    )
    key_h: Annotated[float, Field(description="How long an idempotency key counts [h].")] = (
        limits.KEY_LIFETIME_H
    )
    attempts: Annotated[int, Field(description="Times that the process of a job may die.")] = (
        limits.MAX_JOB_ATTEMPTS
    )
    limit_s: Annotated[float, Field(description="Time of a simulation, or an import [s].")] = (
        limits.JOB_TIME_LIMIT_S
    )
    grace_s: Annotated[
        float, Field(description="What a job may take besides its own time limit [s].")
    ]
    memory_bytes: Annotated[
        int, Field(description="Memory of a job, beside what its process begins with [bytes].")
    ]
    at_once: Annotated[
        int,
        Field(
            description="Plans, simulations and imports at work at once; of sweeps one, and of "
            "predictions one."
        ),
    ]
    queued: Annotated[int, Field(description="Jobs that may wait.")]
    queued_bytes: Annotated[int, Field(description="Requests and uploads that may wait [bytes].")]
    retention_days: Annotated[float, Field(description="Kept so long after their end [days].")]
    unused_days: Annotated[
        float, Field(description="Graphs and cost models are kept so long after a use [days].")
    ]


class RunLimits(BaseModel):
    """Of a run."""

    bytes: Annotated[int, Field(description="Longest body of a call about it [bytes].")] = (
        limits.MAX_RUN_BYTES
    )
    steps: Annotated[int, Field(description="Steps.")] = limits.MAX_RUN_STEPS
    steps_at_once: Annotated[int, Field(description="Steps of one report, and of one page.")] = (
        limits.MAX_REPORTED_STEPS
    )
    step: Annotated[int, Field(description="Number of a step.")] = limits.MAX_STEP
    plans: Annotated[int, Field(description="Plans.")] = limits.MAX_RUN_PLANS
    trials: Annotated[int, Field(description="Trials.")] = limits.MAX_RUN_TRIALS
    arms: Annotated[int, Field(description="Arms of a trial.")] = limits.MAX_RUN_ARMS
    history: Annotated[
        int, Field(description="Steps in its history; of more, every second one, or fewer.")
    ] = limits.MAX_HISTORY_STEPS


class BodyLimits(BaseModel):
    """Of a request as it is sent, and of what the service holds."""

    bytes: Annotated[int, Field(description="Longest body [bytes].")]
    plain_bytes: Annotated[
        int, Field(description="Longest body of a cost model or an estimate [bytes].")
    ] = limits.MAX_PLAIN_BYTES
    report_bytes: Annotated[
        int, Field(description="Longest body of a report of steps [bytes].")
    ] = limits.MAX_REPORT_BYTES
    word_bytes: Annotated[
        int, Field(description="Longest body of the end or a trial of a run [bytes].")
    ] = limits.MAX_WORD_BYTES
    parameters_bytes: Annotated[
        int, Field(description="Longest field `parameters` of a form [bytes].")
    ] = limits.MAX_PARAMETERS_BYTES
    big_bytes: Annotated[
        int, Field(description="Longer bodies are taken of `at_once` requests; others wait.")
    ] = limits.BIG_BODY_BYTES
    at_once: Annotated[int, Field(description="Such bodies that are taken at once.")] = (
        limits.MAX_BIG_BODIES
    )
    worked_on: Annotated[int, Field(description="Requests that are worked on at once.")]
    turn_s: Annotated[
        float,
        Field(description="An answer that is no job waits so long for its turn [s]."),
    ] = limits.MAX_TURN_S
    answer_s: Annotated[float, Field(description="And is worked on for so long [s].")]
    head_bytes: Annotated[int, Field(description="Longest head of a request [bytes].")] = (
        limits.MAX_HEAD_BYTES
    )
    idle_s: Annotated[float, Field(description="Pause within a body [s].")] = limits.MAX_PAUSE_S
    least_bytes_per_s: Annotated[
        int, Field(description="Least speed of a body after that time, on average [bytes/s].")
    ] = limits.MIN_BODY_RATE
    head_s: Annotated[float, Field(description="Time for the head of a request [s].")] = (
        limits.MAX_HEAD_S
    )
    object_fields: Annotated[int, Field(description="Fields of an object that are read.")] = (
        limits.MAX_OBJECT_FIELDS
    )
    values: Annotated[
        int, Field(description="Values of a body that does not fit, to find its faults.")
    ] = limits.MAX_MISFIT_VALUES
    faults_sought: Annotated[int, Field(description="Faults of one sort.")] = (
        solver_limits.MAX_FAULTS_SOUGHT
    )
    faults_listed: Annotated[int, Field(description="Faults in an answer.")] = (
        limits.MAX_FAULTS_LISTED
    )
    results_listed: Annotated[int, Field(description="Results in a list.")] = (
        limits.MAX_LISTED_RESULTS
    )


class Limits(BaseModel):
    """The most of everything, where the name does not say the least."""

    graph: GraphLimits = GraphLimits()
    cluster: ClusterLimits = ClusterLimits()
    options: OptionLimits = OptionLimits()
    simulation: SimulationLimits = SimulationLimits()
    prediction: PredictionLimits = PredictionLimits()
    placement: PlacementLimits = PlacementLimits()
    sweep: SweepLimits = SweepLimits()
    parameter_server: ParameterServerLimits = ParameterServerLimits()
    cost_model: CostModelLimits = CostModelLimits()
    run: RunLimits = RunLimits()
    job: JobLimits
    body: BodyLimits
