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
    Part,
    Placement,
    Placements,
    Plan,
    SharedJob,
    Simulation,
    Sweep,
)
from interlace_client.runs import PredictionError, Run, RunPage, RunPlan, Step

__all__ = [
    "IMPORTS",
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
    "Page",
    "Part",
    "Placement",
    "Placements",
    "Plan",
    "PredictionError",
    "ProblemError",
    "Progress",
    "Run",
    "RunPage",
    "RunPlan",
    "SharedJob",
    "Simulation",
    "Step",
    "Sweep",
    "UnexpectedAnswer",
    "Unreachable",
    "WaitTimeout",
    "problems",
]
