"""Belief beside the truth, doubts and robust plans on the wire and in the command."""

import json
from pathlib import Path

import pytest

from app.errors import InvalidRequest
from app.reading.references import named_in
from app.reading.requests import problem_of, read_body
from app.schemas.plans import PlanRequest
from app.schemas.problem import graph_json
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest
from app.services.plans import solve, timeline
from app.services.simulations import run as simulate
from app.services.sweeps.run import run as sweep
from solver.evidence.doubts import DOUBTS
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.programs.policies import POLICIES as PROGRAM_POLICIES
from tests.app.command import Run

#: Two tensors, 100 us apart, merged by MG-WFBP where it believes in the start-up of 150 us.
PAIR = graph_json(
    build(
        "pair",
        [
            Op("b1", COMPUTE, 100.0, None, ()),
            Op("g1", ALL_REDUCE, None, 1000, ("b1",)),
            Op("b2", COMPUTE, 100.0, None, ("b1",)),
            Op("g2", ALL_REDUCE, None, 1000, ("b2",)),
        ],
    )
)
CLUSTER = {"workers": 2, "bandwidth_gbps": 0.8, "startup_us": 150}
HALF = {"startup_factor": 0.5}


def problem(model, **fields):
    body = {"graph": PAIR, "cluster": CLUSTER, **fields}
    return problem_of(read_body(json.dumps(body).encode(), model))


@pytest.mark.parametrize(
    ("believed", "time"),
    [
        (None, 200 + 150 + 20),
        (HALF, 100 + 2 * 160),
        ({"compute_factor": 2}, 100 + 2 * 160),
        ({"cluster": {**CLUSTER, "startup_us": 75}}, 100 + 2 * 160),
    ],
)
def test_a_policy_is_decided_by_belief_and_executed_in_truth(believed, time):
    answer = simulate(problem(SimulationRequest, policy="mg_wfbp", believed=believed))
    assert answer.iteration_time_us == pytest.approx(time)
    assert (answer.request.believed is None) == (believed is None)


def test_a_sweep_too():
    cells = sweep(problem(SweepRequest, policies=["mg_wfbp", "plan"], believed=HALF)).cells
    sure = sweep(problem(SweepRequest, policies=["mg_wfbp", "plan"])).cells
    assert cells[0].iteration_time_us["mg_wfbp"] == pytest.approx(420)
    assert sure[0].iteration_time_us["mg_wfbp"] == pytest.approx(370)


def test_a_plan_and_what_is_drawn_beside_it():
    asked = problem(PlanRequest, believed=HALF, options={"baselines": ["mg_wfbp"]})
    answer = solve(asked)
    assert answer.baselines[0].iteration_time_us == pytest.approx(420)
    drawn = timeline(asked, json.loads(answer.model_dump_json()), "mg_wfbp")
    assert drawn["otherData"]["mg_wfbp_iteration_time_us"] == pytest.approx(420)


def test_every_plan_says_what_if_the_calibration_is_off():
    answer = solve(problem(PlanRequest))
    assert [row.name for row in answer.off_calibration] == [doubt.name for doubt in DOUBTS]
    assert answer.robust is None
    assert "robust" not in json.loads(answer.model_dump_json())


def test_a_robust_plan_says_what_it_was_chosen_by():
    answer = solve(problem(PlanRequest, options={"robust": "mean", "draws": 7, "seed": 3}))
    found = answer.robust
    assert (found.measure, found.draws, found.seed) == ("mean", 7, 3)
    assert found.plan_us <= found.without_us * (1 + 1e-7)
    assert solve(problem(PlanRequest, options={"robust": "p95"})).robust.draws == 50


def test_a_time_limit_is_asked_for_each_plan_that_it_is_chosen_from():
    plain, robust = (problem(PlanRequest, options=o).request for o in ({}, {"robust": "p95"}))
    assert robust.asked_s > plain.asked_s


def test_a_robust_program_says_what_it_was_chosen_by():
    options = {"robust": "mean", "draws": 3, "host_order": True}
    answer = solve(problem(PlanRequest, options=options))
    assert answer.robust is not None
    assert answer.robust.draws == 3
    assert answer.robust.plan_us <= answer.robust.without_us
    assert [each.policy for each in answer.robust.rivals] == list(PROGRAM_POLICIES)


def test_cost_models_of_what_is_believed_are_found():
    model = "a" * 32
    believed = {"cluster": {"cost_model": {"id": model}}}
    assert named_in(json.dumps({"cluster": {}, "believed": believed}).encode()) == (None, [model])


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"believed": {"startup_factor": 0}}, "/believed/startup_factor"),
        ({"believed": {"cluster": {"workers": 2}}}, "/believed/cluster/bandwidth_gbps"),
        ({"believed": {"cluster": {"cost_model": "b" * 32}}}, "/believed/cluster/cost_model"),
        ({"believed": {"startup": 1}}, "/believed/startup"),  # no such field
        ({"options": {"robust": "median"}}, "/options/robust"),
        ({"options": {"robust": "p95", "draws": 0}}, "/options/draws"),
        ({"options": {"host_order": True}, "believed": HALF}, "/believed"),  # a program
        (
            {"options": {"robust": "p95", "memory_limits_bytes": [1, 2]}},  # a front
            "/options/memory_limits_bytes",
        ),
        (
            {"options": {"robust": "p95", "memory_limit_bytes": 9, "more_memory_bytes": [1]}},
            "/options/more_memory_bytes",
        ),
    ],
)
def test_refused(fields, pointer):
    with pytest.raises(InvalidRequest) as error:
        problem(PlanRequest, **fields)
    assert pointer in [fault.pointer for fault in error.value.faults]


def test_flags(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"graph": PAIR, "cluster": CLUSTER}))
    believed = ("--believed", "startup_factor=0.5")
    robust = ("--robust", "p95", "--draws", "5", "--baseline", "mg_wfbp")
    found = run("plan", f"{path}", *robust, *believed)
    for said in (
        "decided as is believed: startup_factor 0.5",
        "If the calibration is off",
        "p95 over 5 draws of the costs",
    ):
        assert said in found.stdout
    for flags in (believed, ("--set", "believed.startup_factor=0.5")):
        answer = run("simulate", f"{path}", "--policy", "mg_wfbp", "--json", *flags)
        assert json.loads(answer.stdout)["iteration_time_us"] == pytest.approx(420)
    swept = run("sweep", f"{path}", "--policy", "mg_wfbp", "--json", "--believed", "seed=1")
    assert json.loads(swept.stdout)["request"]["believed"]["seed"] == 1


def test_a_fault_of_what_is_believed_names_its_flag(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"graph": PAIR, "cluster": CLUSTER}))
    found = run("plan", f"{path}", "--believed", "startup_factor=0")
    assert found.returncode == 2
    assert "--believed" in found.stderr
