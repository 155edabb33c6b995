"""A plan that is to be proven for longer: what its job asks for, and what is refused."""

import pytest

from app.errors import InvalidRequest
from app.jobs.kinds import PLAN
from app.jobs.sizes import is_small
from app.schemas.plans import PlanRequest
from app.schemas.problem import ops_json
from app.services.plans import solve
from tests import dag_graphs
from tests.app.test_belief import problem


def test_its_job_asks_for_the_time_and_is_not_small():
    plain, longer = (problem(PlanRequest, options=o) for o in ({}, {"prove_s": 30}))
    assert longer.request.asked_s >= plain.request.asked_s + 2 * 30
    assert is_small(PLAN, plain.graph, plain.request)
    assert not is_small(PLAN, longer.graph, longer.request)
    assert solve(longer).iteration_time_us <= solve(plain).iteration_time_us


def test_a_program_is_not_proven_so():
    with pytest.raises(InvalidRequest) as error:
        problem(PlanRequest, options={"prove_s": 1, "host_order": True})
    assert [fault.pointer for fault in error.value.faults] == ["/options/prove_s"]


def test_an_answer_says_why_nothing_was_done():
    graph = dag_graphs.case(4, 31, 33).graph
    asked = problem(PlanRequest, graph=ops_json(graph.name, graph.ops), options={"prove_s": 0.01})
    answer = solve(asked)
    assert answer.status == "feasible"
    [said] = [each for each in answer.warnings if each.pointer == "/options/prove_s"]
    assert said.code == "proof_not_tried"
    assert f"{len(graph.collectives)} collectives" in said.detail
