"""A cost model where a graph belongs: one sentence says what it is, and what takes it."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.reading.requests import read_body
from app.schemas.plans import PlanRequest
from tests.app.command import Run

LINE = {"name": "x", "algorithm": "linear", "constant_us": 10, "us_per_byte": 0.001, "workers": 4}
ANSWER = {"name": "x", "model": {"algorithm": "table", "table": [[1, 2], [3, 4]]}, "fits": []}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (LINE, ""),
        (ANSWER, ""),
        ({**LINE, "cluster": {"workers": 4}}, ""),  # beside flags of the command
        ({"graph": LINE, "cluster": {"workers": 4}}, "/graph"),
        ({"graph": ANSWER}, "/graph"),
    ],
)
def test_a_cost_model_in_place_of_a_graph_is_one_fault(body: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_body(json.dumps(body).encode(), PlanRequest)
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == (place, "wrong_type")
    assert fault.detail == (
        "This is a cost model, no graph: --cost-model of the command takes it, and "
        "cluster.cost_model of a request."
    )


@pytest.mark.parametrize(
    "body",
    [
        [LINE],
        {"algorithm": "ring", "workers": 4},  # a cluster
        {"model": "x"},
        {"graph": {"ops": [], "algorithm": "table", "table": []}},
    ],
)
def test_what_else_does_not_fit_has_its_own_faults(body: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_body(json.dumps(body).encode(), PlanRequest)
    assert not any("cost model, no graph" in fault.detail for fault in refused.value.faults)


@pytest.mark.parametrize("command", ["plan", "simulate", "import"])
def test_the_command_says_what_the_file_is(command: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(LINE))
    done = run(command, str(path))
    assert (done.returncode, done.stderr.count("interlace: ")) == (1, 1)
    assert "is a cost model, no graph" in done.stderr
    path.write_text('{"algorithm"')  # no whole JSON
    assert "cost model, no graph" not in run("import", str(path)).stderr
