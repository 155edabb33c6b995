"""A client of the Interlace service, for launchers, schedulers and notebooks."""

from interlace_client import problems
from interlace_client.async_client import AsyncClient
from interlace_client.client import Client
from interlace_client.errors import (
    Cancelled,
    InterlaceError,
    ProblemError,
    UnexpectedAnswer,
    Unreachable,
    WaitTimeout,
)
from interlace_client.jobs import (
    IMPORTS,
    PARAMETER_SERVERS,
    PLANS,
    SIMULATIONS,
    SWEEPS,
    Failure,
    Fault,
    Job,
    Kind,
    Page,
    Progress,
)
from interlace_client.results import (
    Baseline,
    Bucket,
    Cell,
    ImportedGraph,
    Knee,
    Part,
    Plan,
    Simulation,
    Sweep,
    Throughput,
    ThroughputRow,
)
from interlace_client.runs import PredictionError, Run, RunPage, RunPlan, Step

__all__ = [
    "IMPORTS",
    "PARAMETER_SERVERS",
    "PLANS",
    "SIMULATIONS",
    "SWEEPS",
    "AsyncClient",
    "Baseline",
    "Bucket",
    "Cancelled",
    "Cell",
    "Client",
    "Failure",
    "Fault",
    "ImportedGraph",
    "InterlaceError",
    "Job",
    "Kind",
    "Knee",
    "Page",
    "Part",
    "Plan",
    "PredictionError",
    "ProblemError",
    "Progress",
    "Run",
    "RunPage",
    "RunPlan",
    "Simulation",
    "Step",
    "Sweep",
    "Throughput",
    "ThroughputRow",
    "UnexpectedAnswer",
    "Unreachable",
    "WaitTimeout",
    "problems",
]
