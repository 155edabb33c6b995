"""What there is to choose is listed once: a dict of the solver, which all others read."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from app.jobs.rows import STATES
from app.pages import markup
from app.schemas.allocations import TOPOLOGY_FORMS
from app.schemas.graphs import CollectiveKind
from app.schemas.lists import Status
from solver import glossary
from solver.bounds.kinds import BOUND_KINDS
from solver.calibration.channels import Basis
from solver.calibration.fits import FITS
from solver.calibration.measurements import READERS as BENCHMARKS
from solver.costs import ALGORITHMS
from solver.evidence.brief import Limit
from solver.evidence.gain import VERDICTS, WHAT_RUNS
from solver.exports import EXPORTS
from solver.exports.programs import PROGRAM_EXPORTS
from solver.fusion.layered import FUSIONS
from solver.models import MODELS
from solver.policies import POLICIES
from solver.programs.explanation.earlier import REASONS
from solver.programs.policies import POLICIES as PROGRAM_POLICIES
from solver.simulation.compression import COMPRESSIONS
from solver.traces import READERS

ROOT = Path(__file__).parent.parent

#: The client imports nothing of ours, so it may say what it must know.
PARTS = ("app", "solver", "interlace", "docs/generate")

#: Written by ``make openapi``, of the dicts themselves.
MADE = frozenset({"app/names.py", "app/cli/request_fields.py"})

#: Names, and which modules may list more than three in four of them; beside the registry
#: itself those that have words for each, or read logs in which such a name is another tool's.
REGISTRIES: dict[str, tuple[Iterable[str], list[str]]] = {
    "algorithms": (ALGORITHMS, []),
    "benchmarks": (BENCHMARKS, []),
    "bound kinds": (BOUND_KINDS, []),
    "compressions": (COMPRESSIONS, ["solver/simulation/compression.py"]),
    "collectives": (
        get_args(CollectiveKind),
        [
            "app/schemas/networks.py",
            "solver/calibration/measurements/logs/deepspeed.py",
            "solver/calibration/measurements/logs/flight_recorder.py",
        ],
    ),
    "exports": (EXPORTS, []),
    "fits": (FITS, []),
    "fusions": (FUSIONS, ["solver/fusion/layered.py"]),
    "launch reasons": (REASONS, []),
    "limits": (get_args(Limit), ["solver/evidence/brief.py", "solver/explanation/advice.py"]),
    "line bases": (
        get_args(Basis),
        ["app/services/trace_clusters.py", "solver/calibration/channels.py"],
    ),
    "models": (
        MODELS,
        ["app/services/examples.py", "solver/glossary.py", "solver/models/__init__.py"],
    ),
    "policies": (POLICIES, ["solver/glossary.py", "solver/policies/__init__.py"]),
    "program exports": (PROGRAM_EXPORTS, []),
    "program policies": (
        PROGRAM_POLICIES,
        ["solver/glossary.py", "solver/programs/policies/__init__.py"],
    ),
    "states": (STATES, ["app/pages/markup.py", "app/schemas/lists.py"]),
    "statuses": (get_args(Status), ["app/schemas/lists.py", "solver/glossary.py"]),
    "topologies": (TOPOLOGY_FORMS, ["app/schemas/allocations.py"]),
    "trace formats": (READERS, []),
    "verdicts": (VERDICTS, ["solver/evidence/gain.py"]),
    "what you run": (WHAT_RUNS, ["solver/evidence/gain.py", "solver/glossary.py"]),
}


def _listed(tree: ast.Module) -> Iterator[frozenset[str]]:
    """Yield the strings of each dict, tuple, list, set and literal type of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            parts: Iterable[ast.expr | None] = node.keys
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = node.elts
        else:
            continue
        yield frozenset(
            part.value
            for part in parts
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )


@cache
def _lists() -> dict[str, list[frozenset[str]]]:
    paths = (path for part in PARTS for path in sorted((ROOT / part).rglob("*.py")))
    places = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return {
        place: [words for words in _listed(ast.parse(path.read_text("utf-8"))) if len(words) > 1]
        for place, path in places.items()
        if place not in MADE
    }


@pytest.mark.parametrize("registry", REGISTRIES)
def test_a_registry_is_said_once(registry: str) -> None:
    names, homes = frozenset(REGISTRIES[registry][0]), REGISTRIES[registry][1]
    most = [
        place
        for place, lists in _lists().items()
        if any(4 * len(words & names) > 3 * len(names) for words in lists)
    ]
    assert most == homes


def test_what_is_listed_is_seen() -> None:
    tree = ast.parse("A = {'x': 1, 'y': 2}\nB = ('x', 'y')\nC = Literal['x', 'y']\nD = ['x', 'y']")
    assert [*_listed(tree)] == [frozenset({"x", "y"})] * 4


def test_each_example_has_a_name_for_people() -> None:
    assert glossary.EXAMPLES.keys() == {"two_layers", *MODELS}


def test_pages_have_words_for_each_state_and_status() -> None:
    assert set(markup.STATES) == set(STATES)
    assert set(glossary.PROVEN) == set(get_args(Status))
