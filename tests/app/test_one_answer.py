"""The same input has one answer: in Python, by the command, and posted to the service."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import interlace
from app.reading.traces import read_files
from app.services.graphs import graph_out
from solver.errors import InterlaceError
from solver.evidence.evidence import Evidence
from solver.models import MODELS
from solver.traces import TraceOptions
from tests.app.command import Run
from tests.app.test_evidence import posting
from tests.conftest import SHARED

CLUSTER = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}

#: Those that are planned in a second; the others are compared by ``make test-long``.
QUICK = ("two_layers", "vgg16", "resnet50")

SLOW = [name for name in MODELS if name not in QUICK]

GRAPHS = sorted((SHARED / "general").glob("*.json"))

FOLDERS = ("kineto", "passing", "pipedream_graph", "dnn_partitioning", "astra_text_workload")

#: Recordings with one iteration to plan; the rest of the folders is read by others' tests.
TRACES = [
    file
    for folder in (
        "kineto",
        "passing",
        "pipedream_graph",
        "dnn_partitioning",
        "astra_text_workload",
    )
    for file in sorted((SHARED / folder).rglob("*.*"))
    if file.suffix in (".gz", ".json", ".txt")
]


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
    return one_answer(run, {"graph": body["graph"], "cluster": body.get("cluster", CLUSTER)})


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


@pytest.mark.long
@pytest.mark.parametrize("file", TRACES, ids=lambda file: file.name)
def test_every_shared_trace_has_one_answer(file: Path, run: Run) -> None:
    """Planned from its file by the command and in Python, and posted as it is imported."""
    command = run("plan", str(file), "--json")
    options = TraceOptions("trace")
    imported = None
    try:
        imported = graph_out(read_files([file.read_bytes()], None, options), options)
    except InterlaceError as error:
        told = error.faults
    if imported is None or imported.graph is None:
        assert command.returncode != 0
        with pytest.raises(InterlaceError) as refused:
            interlace.plan(file)
        assert imported is not None or refused.value.faults == told
        return
    assert command.returncode == 0, command.stderr
    cluster = imported.cluster or CLUSTER
    posted = compared(posting({"graph": imported.graph, "cluster": cluster}))
    answer = compared(command.stdout)
    if imported.cluster is None:  # the command says which it took
        answer["warnings"] = posted["warnings"]
    assert answer == posted
    python = interlace.plan(file) if imported.cluster else interlace.plan(file, CLUSTER)
    assert TypeAdapter(Evidence).dump_python(python.evidence, mode="json") == posted["evidence"]
    assert python.iteration_time_us == posted["iteration_time_us"]
