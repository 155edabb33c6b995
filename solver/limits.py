"""The most that the solver takes, where more would be wrong or would not end: every limit.

The service's own limits stand in ``app/limits.py``.
"""

# Graphs ---------------------------------------------------------------------------------------

#: Most ops that repeats stand for.
MAX_OPS_UNFOLDED = 10_000_000
#: Longest duration of one op [us]: a hundred days.
MAX_DURATION_US = 8.64e12
#: Largest collective, and all of a graph together [bytes]: an exbibyte.
MAX_BYTES = 2**60
#: Most dimensions of a tensor: as many as NumPy has.
MAX_DIMENSIONS = 64
#: So many faults of one sort are looked for.
MAX_FAULTS_SOUGHT = 1_000

# Clusters -------------------------------------------------------------------------------------

#: Most workers, of a cluster or of a measurement.
MAX_WORKERS = 1_000_000
#: Least and most bandwidth [Gbit/s].
MIN_BANDWIDTH_GBPS = 1e-6
MAX_BANDWIDTH_GBPS = 1e6
#: Least share of a bandwidth that a transport reaches.
MIN_LINE_RATE_SHARE = 1e-3
#: Longest start-up of a launch, and longest hop [us].
MAX_STARTUP_US = 1e9
#: Most times as long as by itself that compute takes beside communication.
MAX_COMPUTE_SLOWDOWN = 100.0
#: Most sizes of a table of measured points.
MAX_TABLE_SIZES = 2_048

# Jobs beside one another ----------------------------------------------------------------------

#: Most jobs of a mix, links that they share, and phases of a job's iteration.
MAX_MIX_JOBS = 200
MAX_MIX_LINKS = 4_096
MAX_MIX_PHASES = 2_000
#: Most iterations of each job in a run.
MAX_MIX_ITERATIONS = 1_000

# Parameter servers ----------------------------------------------------------------------------

#: Most servers of a step.
MAX_SERVERS = 16
#: Most workers of a predicted throughput, and most steps of each.
MAX_PREDICTED_WORKERS = 1_000
MAX_PREDICTED_STEPS = 100_000

# Schedules ------------------------------------------------------------------------------------

#: Most slots of a schedule.
MAX_SLOTS = 20_000
#: Most buckets of the linear program: its columns grow with their square.
MAX_LP_BUCKETS = 250

#: Largest share of the best time found that a plan may take longer, for fewer launches.
MAX_LAUNCH_TOLERANCE = 0.1

#: Most time that a plan may be asked to be proven for [s].
MAX_PROVE_S = 600

#: Most channels of a graph whose launches are searched together, and whose windows bound its time;
#: of more, the best of the rules and policies is the plan, and a bound counts fewer channels' work.
MAX_JOINT_CHANNELS = 64

# Policies -------------------------------------------------------------------------------------

#: Most launches of a policy that sends in slices.
MAX_POLICY_LAUNCHES = 1_000_000
#: Policies of more launches are tried as plans only when they are asked for: it takes seconds.
MAX_SEARCHED_LAUNCHES = 200_000
#: Slices that make more launches are not tried by a policy that searches its slice, unless they
#: are the longest.
MAX_TUNED_LAUNCHES = 100_000

# Placements -----------------------------------------------------------------------------------

#: Most pushes and pulls of a simulated exchange: it takes seconds. One across racks counts twice.
MAX_SIMULATED_TRANSFERS = 100_000
#: Most chunks that keys are cut into.
MAX_CHUNKS = 1_000_000
#: Most cores of all servers together.
MAX_SERVER_CORES = 100_000

# Jitter ---------------------------------------------------------------------------------------

#: Most iterations.
MAX_JITTER_RUNS = 10_000
#: Largest standard deviation of an op's factor.
MAX_JITTER_SPREAD = 10.0
#: Largest factor by which costs are believed to be off, and one over the least.
MAX_BELIEVED_FACTOR = 1_000.0
#: Most draws of the costs from which a robust plan is chosen.
MAX_ROBUST_DRAWS = 1_000

# Traces and exports ---------------------------------------------------------------------------

#: Most collectives of one step of a Kineto trace.
MAX_STEP_COLLECTIVES = 10_000
#: Most reasons why a recording carries no gain, and the longest of them [characters].
MAX_UNSOUND = 16
MAX_UNSOUND_CHARACTERS = 1_000
#: Most tasks of a session's timeline.
MAX_TASKS = 256
#: Most nodes of a Chakra trace: no graph has more ops.
MAX_CHAKRA_NODES = 1_000_000
#: Most edges that the launches of a Chakra trace add between collectives and streams.
MAX_LAUNCH_EDGES = 2_000_000
#: Most files that an export writes.
MAX_EXPORTED_FILES = 256

# Measurements ---------------------------------------------------------------------------------

#: Most samples, posted or read.
MAX_SAMPLES = 20_000
#: Most times in a text, samples or not.
MAX_MEASURED_TIMES = 200_000
#: Shortest time that counts as one [us].
MIN_TIME_US = 1e-6
#: Most lines that are not blank, and most characters of one.
MAX_TEXT_LINES = 200_000
MAX_LINE_CHARACTERS = 100_000
#: Most lines before the data of a table, and most columns of it.
MAX_HEADER_LINES = 1_000
MAX_COLUMNS = 64

# Iteration times ------------------------------------------------------------------------------

#: Most rows of a table of iteration times: each is simulated some hundred times.
MAX_RUNS = 1_000
#: Most ops and launches of all these rows together.
MAX_ESTIMATED_STEPS = 500_000
#: Most samples of one worker's batch.
MAX_BATCH = 1_000_000_000
#: Longest sequence of a generated model [tokens].
MAX_TOKENS = 1_000_000

#: Most chunks that a what-if cuts a block in, and ops of the graph that comes of it, and its edges.
MAX_BLOCK_CHUNKS = 64
MAX_CHUNKED_OPS = 1_000_000
MAX_CHUNKED_EDGES = 2_000_000
