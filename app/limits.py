"""The most that a request may ask, and the service holds: every limit, in one place.

The solver's own limits stand in its modules. ``GET /v1/limits`` tells all of them.
"""

from solver.calibration.fits import MOST_SIZES
from solver.calibration.measurements import MOST_SAMPLES
from solver.calibration.measurements.readings import MOST_WORKERS
from solver.graph import MOST_FAULTS
from solver.policies.choice import MAX_LAUNCHES

# of a graph and a cluster
MAX_OPS = 1_000_000
MAX_COLLECTIVES = 3_000
MAX_EDGES = 2_000_000
MAX_SEED = 2**32 - 1
MAX_SECONDS = 600
MIN_SLOT_US = 1e-6
MAX_BASELINES = 32
MAX_US = 1e9
MAX_GBPS = 1e6
MIN_GBPS = 1e-6
MAX_WORKERS = MOST_WORKERS
MAX_POINTS = MOST_SIZES
MAX_CHANNELS = 16
#: Most launches of all baselines of a request, those of a search for "auto" included.
MAX_ALL_LAUNCHES = 2 * MAX_LAUNCHES
MAX_BINS = 10_000
#: Most launches: each is listed, and simulated ten times to explain it.
MAX_SENT = 100_000
#: Most cells of a sweep.
MAX_CELLS = 4_096
#: Longest time for one plan [s].
MAX_PLAN_S = 60
#: Longest time for a sweep [s].
MAX_SWEEP_S = 3_600
MAX_LAYERS = 10_000
MAX_COUNTS = 64
MAX_BUFFERS = 64
MAX_BATCH = 1_000_000_000
MAX_FLOPS = 1e24
MIN_UTILISATION = 1e-6
#: Most samples, posted or in a text.
MAX_SAMPLES = MOST_SAMPLES
#: Longest text of a benchmark that is read [characters].
MAX_TEXT = 2**24
#: So many values, about, a body that does not fit may have: more than any graph within the limits.
MAX_VALUES = 20_000_000
#: Most fields of an object that are looked at.
MAX_KEYS = 64
#: Ops are looked at until so many faults are found.
ENOUGH = MOST_FAULTS
#: Longest id of an op.
MAX_NAME = 512
#: Most ops and launches, over all runs and policies, of a request with jitter.
MAX_JITTER_STEPS = 20_000_000
#: Up to so many ops and edges, each op is told apart.
DETAIL = 200_000
MAX_CHANGES = 100
MAX_FACTOR = 1e6
#: Most ops and launches, over all cells and policies.
MAX_STEPS = 20_000_000
#: Most time for plans, over all cells, if each took its limit [s].
MAX_PLANNING_S = 10_000
#: Most bytes that all files unpack to.
MAX_UNPACKED = 2**29
#: Most lines of a text.
MAX_LINES = 1_000_000
#: An idempotency key counts for so long [h].
KEY_HOURS = 24
#: Most tags that a job comes to have.
MAX_JOB_TAGS = 64
#: Longer bodies are held by a few calls at a time, and read by the job's own child: reading them
#: would keep the server [bytes].
BIG = 2**20
#: A job whose child died so often has failed.
MAX_ATTEMPTS = 3
#: A job whose request was not read yet may take so long [s].
MOST_S = 600.0
#: A simulation or an import may take so long [s]; plans and sweeps say so themselves.
LIMIT_S = 600.0
#: How long the head of a request may take, and what is left of a body after the answer [s].
HEAD_S, REST_S = 20.0, 20.0
#: A client that reads must take so much [bytes] each so long [s].
READ_BYTES, READ_S = 200_000, 20.0
#: Answers that clients have not read take so much memory together; beyond, the slowest one is
#: dropped [bytes].
MAX_UNREAD = 2**29
#: A client may pause for so long within a body [s], and after so long in all must have sent this
#: much on average [bytes/s].
IDLE_S, LEAST_RATE = 20.0, 10_000
#: Most results in a list.
MAX_LISTED = 200
#: Most files of a form.
MAX_FILES = 1_024
#: A call waits so long for its job when it does not say how long, and at most [s].
WAIT_S, MAX_WAIT_S = 5, 60
#: Most tags of one call, and characters of one.
MAX_TAGS, MAX_TAG = 16, 64
MAX_KEY = 255
#: How many faults one answer lists.
MAX_FAULTS = 100
