"""The most that a request may ask, and the service holds: every limit, in one place.

The solver's own limits stand in ``solver/limits.py``; ``GET /v1/limits`` tells both.
"""

from solver.limits import MAX_BATCH, MAX_POLICY_LAUNCHES

# Graphs ---------------------------------------------------------------------------------------

#: Most ops; a barrier counts as one.
MAX_OPS = 1_000_000
#: Most ops that are collectives.
MAX_COLLECTIVES = 3_000
#: The same of a graph that is simulated, as policies' launches are listed; no plan is searched.
MAX_SIMULATED_COLLECTIVES = 100_000
#: Most entries of all ``after`` lists.
MAX_EDGES = 2_000_000
#: Most ops and edges of a graph whose compute ops are told apart; beyond, they are merged.
MAX_UNMERGED = 200_000
#: Most ops of a graph with buffers or streams of free order, whose order is checked by sets of ops,
#: and most buffers, ten an op.
MAX_PROGRAM_OPS = 10_000
MAX_BUFFERS = 10 * MAX_PROGRAM_OPS
#: Most entries of all ``read_by`` lists.
MAX_READS = MAX_EDGES
#: Most streams of a graph that are described.
MAX_STREAMS = 1_024
#: Longest name of a graph, an op, a channel or a stream [characters].
MAX_NAME_CHARACTERS = 512

# Clusters -------------------------------------------------------------------------------------

#: Most channels besides the network.
MAX_CHANNELS = 4_096
#: Most links, most of them that a channel crosses, and the highest class of a channel.
MAX_LINKS = 4_096
MAX_PATH_LINKS = 16
MAX_PRIORITY = 7

# Options of a plan ----------------------------------------------------------------------------

#: Most policies to compare with.
MAX_BASELINES = 32
#: Most launches of all baselines of a request, those of a search for "auto" included.
MAX_BASELINES_LAUNCHES = 2 * MAX_POLICY_LAUNCHES
#: Most memory limits of one request.
MAX_MEMORY_LIMITS = 16
#: Least and most speed of the copies of buckets [Gbit/s].
MIN_COPY_GBPS = 1e-3
MAX_COPY_GBPS = 1e9
#: Shortest slot [us].
MIN_SLOT_US = 1e-6
#: Largest seed of random numbers.
MAX_SEED = 2**32 - 1
#: Longest time limit of a plan or a prediction [s].
MAX_TIME_LIMIT_S = 600
#: Most effort of a search, in times the usual.
MAX_EFFORT = 100

# Simulations and what-ifs ---------------------------------------------------------------------

#: Most launches of a policy, and parts of a plan: each is listed, and simulated ten times to
#: explain it.
MAX_SIMULATED_LAUNCHES = 100_000
#: Most bins of the use of a channel over time.
MAX_BINS = 10_000
#: Most ops and launches, over all runs and policies, of a request with jitter.
MAX_JITTER_STEPS = 20_000_000
#: Most changes of a what-if, and the largest factor of one.
MAX_CHANGES = 100
MAX_CHANGE_FACTOR = 1e6
#: The most that encoding or decoding may take in a what-if [us/byte].
MAX_CODING_US_PER_BYTE = 1.0

# Predictions ----------------------------------------------------------------------------------

#: Most layers.
MAX_LAYERS = 10_000
#: Most worker counts.
MAX_WORKER_COUNTS = 64
#: Most fusion buffers.
MAX_FUSION_BUFFERS = 64
#: Most samples of one worker's batch.
MAX_BATCH_SAMPLES = MAX_BATCH
#: Most work of a layer [FLOP], and largest peak of a worker [FLOP/s].
MAX_FLOPS = 1e24
#: Least share of the peak that is used.
MIN_UTILISATION = 1e-6

# Placements -----------------------------------------------------------------------------------

#: Most keys of a model, and jobs on one server.
MAX_KEYS = 10_000
MAX_SHARING_JOBS = 16
#: Most sizes of chunks that are tried, and racks whose prices are compared.
MAX_CHUNK_SIZES = 16
MAX_OVERSUBSCRIPTIONS = 16
#: Most chunks that keys are cut into: more take seconds.
MAX_PLACED_CHUNKS = 300_000
#: Most pushes and pulls of all simulations of an answer: they take up to ten seconds.
MAX_PLACEMENT_TRANSFERS = 120_000

# Sweeps ---------------------------------------------------------------------------------------

#: Most cells.
MAX_CELLS = 4_096
#: Most ops and launches, over all cells and policies.
MAX_SWEEP_STEPS = 20_000_000
#: Longest time limit of the plan of one cell [s].
MAX_CELL_TIME_LIMIT_S = 60
#: Longest time limit of a sweep [s].
MAX_SWEEP_LIMIT_S = 3_600
#: Most time for plans, over all cells, if each took its limit [s].
MAX_SWEEP_PLANNING_S = 41_000

# Parameter servers ----------------------------------------------------------------------------

#: Most profiled steps of a request, most ops of all of them, and entries of their ``after``.
MAX_PROFILED_STEPS = 1_000
MAX_STEP_OPS = 100_000
MAX_STEP_EDGES = 1_000_000

#: Most edges of the steps that are taken of a trace, some 50 bytes of an answer each; of more steps
#: some are left out.
MAX_TRACE_STEP_EDGES = 200_000
#: Most bandwidths.
MAX_BANDWIDTHS = 64
#: Most time that a byte takes to be parsed, or to be put into the parameters [us].
MAX_US_PER_BYTE = 1e3
#: Most services of all rows and of what they are explained by: a core simulates some 300,000 to a
#: million in a second.
MAX_SERVICES = 100_000_000
#: What a step takes besides its services, in services: its draw and its end are kept.
STEP_SERVICES = 10
#: Most steps of a worker in a timeline, most services in it, and most that are simulated for it.
MAX_TIMELINE_STEPS = 20
MAX_TIMELINE_SERVICES = 50_000
MAX_TIMELINE_SIMULATED = 2_000_000

# Files and texts ------------------------------------------------------------------------------

#: Longest text of a benchmark that is read [characters].
MAX_TEXT_CHARACTERS = 2**24
#: Most files of a form.
MAX_FILES = 1_024
#: Most bytes that all files unpack to.
MAX_UNPACKED_BYTES = 2**29
#: An archive may unpack to so many times its size: traces shrink to a tenth, or a thirtieth.
MAX_ARCHIVE_RATIO = 250
#: Most lines of a trace that is text.
MAX_TRACE_LINES = 1_000_000
#: Most lines of a DLC file, a message each: one takes 4 us and some 250 bytes.
MAX_DLC_LINES = 4_000_000

# Jobs -----------------------------------------------------------------------------------------

#: Time of a simulation, a prediction or an import, and of a job whose request was not read yet [s];
#: plans and sweeps bring their own.
JOB_TIME_LIMIT_S = 600.0
#: A job whose child died so often has failed.
MAX_JOB_ATTEMPTS = 3
#: A call waits so long for its job when it does not say how long, and at most [s].
DEFAULT_WAIT_S = 5
MAX_WAIT_S = 60
#: Most tags that one call names, and that a job comes to have from all calls that get it.
MAX_CALL_TAGS = 16
MAX_JOB_TAGS = 64
#: Longest tag, and longest idempotency key [characters].
MAX_TAG_CHARACTERS = 64
MAX_KEY_CHARACTERS = 255
#: An idempotency key counts for so long [h].
KEY_LIFETIME_H = 24
#: Most results in a list.
MAX_LISTED_RESULTS = 200

# Calls that wait for an answer that is no job ---------------------------------------------------

#: Such a call waits so long for its turn [s].
MAX_TURN_S = 30.0

# Runs -----------------------------------------------------------------------------------------

#: Longest body of a call about a run [bytes].
MAX_RUN_BYTES = 2**24
#: Most steps of one report, and of one page.
MAX_REPORTED_STEPS = 10_000
#: Most steps of a run; beyond, a job reports every tenth, say.
MAX_RUN_STEPS = 1_000_000
#: Largest number of a step.
MAX_STEP = 2**40
#: Most plans of a run.
MAX_RUN_PLANS = 256
#: Most trials of a run, and most that one tries.
MAX_RUN_TRIALS, MAX_RUN_ARMS = 256, 16
#: Most steps in the history of a run; of more, every second one is told, or fewer.
MAX_HISTORY_STEPS = 1_000

# Bodies ---------------------------------------------------------------------------------------

#: Longer bodies are parsed by a child, not by the server [bytes].
SMALL_BODY_BYTES = 2**16
#: Longer bodies go to a file, of a few calls at a time, and are checked by the job's own child: the
#: server holds no more of any body [bytes].
BIG_BODY_BYTES = 2**20
#: So many of them are taken at once; other clients wait.
MAX_BIG_BODIES = 8
#: Longest body without a graph: of a cost model or an estimate; of a report of steps; and of what
#: is said in a word [bytes].
MAX_PLAIN_BYTES = 2**24
MAX_REPORT_BYTES = 2**22
MAX_WORD_BYTES = 2**20
#: Longest field ``parameters`` of a form [bytes].
MAX_PARAMETERS_BYTES = 2**24
#: So many values, about, a body that does not fit may have: more than any graph within the limits.
MAX_MISFIT_VALUES = 20_000_000
#: Most fields of an object that are looked at.
MAX_OBJECT_FIELDS = 64
#: How many faults one answer lists.
MAX_FAULTS_LISTED = 100

# Connections ----------------------------------------------------------------------------------

#: Longest head of a request: its line and its headers [bytes].
MAX_HEAD_BYTES = 2**16
#: Most headers of a request.
MAX_HEADERS = 128
#: Time for the head of a request, and for what is left of a body after the answer [s].
MAX_HEAD_S = 20.0
MAX_REST_S = 5.0
#: A client may pause for so long within a body [s], and after so long in all must have sent this
#: much on average [bytes/s].
MAX_PAUSE_S = 20.0
MIN_BODY_RATE = 10_000
#: A body may have this many chunks, however small; of more, the average must be so long [bytes].
MAX_TINY_CHUNKS = 1_000
MIN_CHUNK_BYTES = 64
#: A client that reads must take so much [bytes] each so long [s].
MIN_READ_BYTES = 200_000
READ_PERIOD_S = 20.0
#: Longer answers are written one at a time, and are not kept for who asks next [bytes].
LARGE_ANSWER_BYTES = 2**20
#: Answers that clients have not read take so much memory together; beyond, the slowest client is
#: dropped [bytes].
MAX_UNREAD_BYTES = 2**29
