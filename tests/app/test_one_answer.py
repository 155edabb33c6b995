"""The same input has one answer: in Python, by the command, and posted to the service."""

import json
from pathlib import Path
from typing import Any

import pytest

import interlace
from solver.models import MODELS
from tests.app.command import Run
from tests.app.test_evidence import posting
from tests.conftest import SHARED

CLUSTER = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}

#: Those that are planned in a second; the others are compared by ``make test-long``.
QUICK = ("two_layers", "vgg16", "resnet50")

SLOW = [name for name in MODELS if name not in QUICK]

GRAPHS = sorted((SHARED / "general").glob("*.json"))


def compared(answer: Any) -> dict[str, Any]:
    """What must not differ: verdicts, figures, evidence and warnings, as JSON."""
    whole = json.loads(answer) if isinstance(answer, str) else answer.model_dump(mode="json")
    kept = (
        *("status", "iteration_time_us", "best_time_us", "lower_bound_us", "headline", "evidence"),
        *("off_calibration", "warnings", "buckets", "schedule", "baselines"),
    )
    return {name: whole[name] for name in kept}


def one_answer(run: Run, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request, which is the same by the command, by HTTP and in Python."""
    posted = posting(body)
    command = run("plan", "-", "--json", stdin=json.dumps(body))
    assert command.returncode == 0, command.stderr
    assert compared(command.stdout) == compared(posted)
    python = interlace.plan(body["graph"], body["cluster"])
    gains = interlace.headline(body["graph"], body["cluster"], None, python)
    assert posted.headline == gains
    assert posted.evidence == python.evidence
    assert [part.bytes for part in posted.schedule.parts] == [part.bytes for part in python.parts]
    figures = (python.status, python.iteration_time_us, python.best_time_us, python.lower_bound_us)
    assert figures == (
        posted.status,
        posted.iteration_time_us,
        posted.best_time_us,
        posted.lower_bound_us,
    )
    return compared(posted)


def of_model(run: Run, name: str) -> dict[str, Any]:
    body = json.loads(run("example", name).stdout)
    return one_answer(run, {"graph": body["graph"], "cluster": CLUSTER})


@pytest.mark.parametrize("name", QUICK)
def test_an_example_has_one_answer(name: str, run: Run) -> None:
    found = of_model(run, name)
    assert all(gain["verdict"] for gain in found["headline"]["gains"])


@pytest.mark.long
@pytest.mark.parametrize("name", SLOW)
def test_every_model_has_one_answer(name: str, run: Run) -> None:
    of_model(run, name)


@pytest.mark.long
@pytest.mark.parametrize("file", GRAPHS, ids=lambda file: file.stem)
def test_every_shared_graph_has_one_answer(file: Path, run: Run) -> None:
    body = json.loads(file.read_bytes())
    one_answer(run, {"graph": body["graph"], "cluster": body.get("cluster", CLUSTER)})
