"""What the package shows, and that it stands alone."""

import ast
import inspect
import sys
import tomllib
from typing import Any

import pytest

import interlace_client
from interlace_client import AsyncClient, Client
from interlace_client.options import How, WaitOptions
from tests.app.service import ROOT

PACKAGE = ROOT / "client" / "interlace_client"
METHODS = {
    *(
        "plan",
        "simulate",
        "sweep",
        "predict_parameter_server",
        "rank_shapes",
        "placements",
        "import_graph",
        "run",
        "submit",
        "wait",
        "get",
        "cancel",
    ),
    *("delete", "list", "read", "post", "close"),
    *(
        "start_run",
        "report_steps",
        "report_plan",
        "report_trial",
        "end_run",
        "read_run",
        "delete_run",
        "runs",
    ),
    *("delete_graph", "delete_cost_model"),
}
NAMES = {
    *("Client", "AsyncClient"),
    *("InterlaceError", "Unreachable", "UnexpectedAnswer", "WaitTimeout", "Cancelled"),
    *("ProblemError", "problems"),
    *("PLANS", "SIMULATIONS", "SWEEPS", "PARAMETER_SERVERS", "RANKINGS", "IMPORTS"),
    *("Kind", "Job", "Page", "Progress"),
    *("Failure", "Fault", "Plan", "Bucket", "Part", "Baseline", "Simulation", "Sweep", "Cell"),
    *("Throughput", "ThroughputRow", "Knee", "Ranking", "ShapeRow"),
    *("Placement", "Placements", "SharedJob"),
    *(
        "ImportedGraph",
        "Run",
        "RunPage",
        "RunPlan",
        "RunArm",
        "RunTrial",
        "Step",
        "PredictionError",
    ),
}


def test_public_names() -> None:
    assert set(interlace_client.__all__) == NAMES
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_methods(kind: type) -> None:
    assert {name for name in vars(kind) if not name.startswith("_")} == METHODS


@pytest.mark.parametrize("method", sorted(METHODS))
def test_both_clients_are_alike(method: str) -> None:
    blocking, other = getattr(Client, method), getattr(AsyncClient, method)
    assert inspect.signature(blocking) == inspect.signature(other)
    assert inspect.getdoc(blocking) == inspect.getdoc(other)
    assert inspect.iscoroutinefunction(other)


def test_options_of_waiting() -> None:
    assert set(How.__dataclass_fields__) == set(WaitOptions.__annotations__)


def imports(tree: ast.Module) -> set[str]:
    """Return what a module imports when it runs: a type checker's imports need not be there."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name.partition(".")[0] for name in found}


def test_httpx_is_all_that_it_needs() -> None:
    used: set[str] = set()
    for file in PACKAGE.glob("*.py"):
        used |= imports(ast.parse(file.read_text("utf-8"), feature_version=(3, 9)))
    beyond = used - set(sys.stdlib_module_names) - {"interlace_client"}
    assert beyond == {"httpx"}
    project: Any = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text("utf-8"))["project"]
    assert [need.partition(">")[0] for need in project["dependencies"]] == ["httpx"]
    assert project["requires-python"] == ">=3.9"
