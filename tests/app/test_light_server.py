"""What the server's process imports: nothing that computes, which its children do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.jobs.kinds import IMPORT, KINDS, MODELS, PARAMETER_SERVER, PLAN, RANKING, SIMULATION, SWEEP
from app.jobs.tasks.work import WORK
from app.references import resolve
from app.schemas.base import AnswerModel
from app.schemas.imports import ImportAnswer
from app.schemas.parameter_servers import ParameterServerAnswer
from app.schemas.plans import PlanAnswer
from app.schemas.shapes import ShapeAnswer
from app.schemas.simulations import SimulationAnswer
from app.schemas.sweeps import SweepAnswer
from app.write_names import MODULE, module
from tests.app.service import ROOT, environment

#: What takes time to import and computes, draws or migrates.
HEAVY = (
    *("numpy", "scipy", "networkx", "highspy", "matplotlib", "plotly", "google.protobuf"),
    *("alembic", "jinja2", "docstring_parser", "opentelemetry.sdk"),
)
#: All that the server takes of the solver: what an input may be wrong in, and limits.
OF_THE_SOLVER = [
    "solver",
    "solver.codes",
    "solver.errors",
    "solver.glossary",
    "solver.limits",
    "solver.wording",
]
#: Starts the application on an empty directory, and prints what is imported then.
STARTED = """
import asyncio, json, sys
import app.cli.server
from app.service import _lifespan, create_app

async def start():
    service = create_app()
    async with _lifespan(service):
        await service.state.readiness.check()
        print(json.dumps(sorted(sys.modules)))

if __name__ == "__main__":
    asyncio.run(start())
"""


@pytest.mark.live
def test_the_server_imports_nothing_that_computes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTED],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    imported = json.loads(done.stdout)
    assert [name for name in HEAVY if name in imported] == []
    assert [name for name in imported if name.split(".")[0] == "solver"] == OF_THE_SOLVER


def test_names_are_those_of_the_solver() -> None:
    assert (ROOT / MODULE).read_text("utf-8") == module(), "stale: run make openapi"


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (PLAN, PlanAnswer),
        (SIMULATION, SimulationAnswer),
        (SWEEP, SweepAnswer),
        (PARAMETER_SERVER, ParameterServerAnswer),
        (RANKING, ShapeAnswer),
        (IMPORT, ImportAnswer),
    ],
)
def test_fields_are_those_of_the_answer(kind: str, answer: type[AnswerModel]) -> None:
    assert KINDS[kind].fields == answer.always()


def test_references_lead_somewhere() -> None:
    """Those in tables; a route's are followed by the tests of the route."""
    assert WORK.keys() == KINDS.keys()
    for reference in (*MODELS.values(), *WORK.values()):
        assert callable(resolve(reference))
