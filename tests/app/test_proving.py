"""A plan that is to be proven for longer: what its job asks for, and what is refused."""

import pytest

from app.errors import InvalidRequest
from app.jobs.kinds import PLAN
from app.jobs.sizes import is_small
from app.schemas.plans import PlanRequest
from app.services.plans import solve
from tests.app.test_belief import PAIR, problem


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


def test_a_graph_of_collectives_after_another_is_refused_at_the_option():
    ops = [*PAIR["ops"], {"id": "g3", "kind": "all_reduce", "bytes": 1000, "after": ["g2"]}]
    asked = problem(PlanRequest, graph={**PAIR, "ops": ops}, options={"prove_s": 1})
    with pytest.raises(InvalidRequest) as error:
        solve(asked)
    assert [fault.pointer for fault in error.value.faults] == ["/options/prove_s"]
