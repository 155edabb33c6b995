"""Ops that run twice, on the wire: asked for, answered, simulated again, and refused elsewhere."""

import copy

import pytest

from app.errors import InvalidRequest
from app.reading.requests import problem_of, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest
from app.schemas.simulations import SimulationRequest
from app.services.exports import exported
from app.services.plans import solve
from app.services.program_simulations import simulate_program
from app.services.program_traces import program_timeline
from solver.errors import InvalidPlan
from tests.app.service import Json

LIMIT = 22


def request(**options: object) -> Json:
    """Op a writes 8 bytes for b and, later, d; c in between takes 22 beside them."""
    compute = {"kind": "compute", "stream": "gpu"}
    ops = [
        {"id": "g", "kind": "all_gather", "bytes": 8, "channel": "pg", "cut": False},
        {"id": "a", "duration_us": 4, **compute},
        {"id": "b", "duration_us": 1, "after": ["a"], **compute},
        {"id": "c", "duration_us": 5, "after": ["b"], **compute},
        {"id": "d", "duration_us": 3, "after": ["a", "c", "g"], **compute},
    ]
    buffers = [
        {"id": "A", "bytes": 8, "written_by": "a", "read_by": ["b", "d"]},
        {"id": "B", "bytes": 4, "written_by": "b", "read_by": ["c"]},
        {"id": "C", "bytes": 16, "written_by": "c"},
        {"id": "of c", "bytes": 2, "written_by": "c", "read_by": ["d"]},
        {"id": "weight", "bytes": 8, "written_by": "g", "read_by": ["d"]},
        {"id": "D", "bytes": 4, "written_by": "d", "kept": True},
    ]
    streams = [{"name": "gpu", "order": "free"}]
    channel = {"workers": 2, "bandwidth_gbps": 1, "startup_us": 1}
    return {
        "graph": {"ops": ops, "buffers": buffers, "streams": streams},
        "cluster": {"channels": {"pg": channel}},
        "options": {"copy_gbps": 26_800, "memory_limit_bytes": LIMIT, **options},
    }


def problem(body: Json) -> CheckedRequest[PlanRequest]:
    return problem_of(read_parsed(body, PlanRequest))


def planned(body: Json) -> Json:
    answer: Json = solve(problem(body)).model_dump(mode="json")
    return answer


def refused(body: Json) -> set[tuple[str, str]]:
    with pytest.raises(InvalidRequest) as error:
        solve(problem(body))
    return {(fault.pointer, fault.code.value) for fault in error.value.faults}


def test_an_op_runs_twice_only_where_that_is_asked_for() -> None:
    assert refused(request()) == {("/options/memory_limit_bytes", "infeasible")}
    assert refused(request(recompute=["*", "!a"])) == {
        ("/options/memory_limit_bytes", "infeasible")
    }
    answer = planned(request(recompute=["a"]))
    twice = {"op": "a", "id": "a/recomputed", "read_by": ["d"], "duration_us": 4.0}
    assert answer["recomputed"] == {"ops": [twice], "compute_us": 4.0, "peak_without_bytes": 30}
    assert answer["iteration_time_us"] == 17
    assert answer["lower_bound_us"] == 13
    assert answer["peak_bytes"] == answer["memory"]["limit_bytes"] == LIMIT
    assert {"do": "compute", "id": "a/recomputed"} in answer["program"]
    assert "1 op runs twice ('a'): 0.004 ms more compute" in answer["summary"]
    none = planned(request(memory_limit_bytes=60, recompute=["*"]))
    assert none["recomputed"]["ops"] == []
    assert none["recomputed"]["peak_without_bytes"] == none["peak_bytes"]
    assert "No op was found to be worth running twice." in none["summary"]
    assert "recomputed" not in planned(request(memory_limit_bytes=60))


def test_rules_run_each_op_once() -> None:
    answer = planned(request(recompute=["*"]))
    once = planned(request(memory_limit_bytes=60))
    own, usual = (
        {each["policy"]: (each["peak_bytes"], each["iteration_time_us"]) for each in told}
        for told in (answer["baselines"], once["baselines"])
    )
    for name in ("in_order", "inductor", "simple_overlap"):
        assert own[name] == usual[name]
    assert answer["headline"]["gains"][0]["today_us"] == once["headline"]["gains"][0]["today_us"]


def test_such_a_program_is_simulated_as_it_was_planned() -> None:
    body = request(recompute=["*"])
    answer = planned(body)
    asked = {"graph": body["graph"], "cluster": body["cluster"], "plan": answer}
    again = problem_of(read_parsed(asked, SimulationRequest))
    told = simulate_program(again).model_dump(mode="json")
    assert told["iteration_time_us"] == answer["iteration_time_us"]
    assert told["peak_bytes"] == answer["peak_bytes"]
    assert told["program"] == answer["program"]
    other = copy.deepcopy(asked)
    other["plan"]["recomputed"]["ops"][0]["read_by"] = ["c"]
    with pytest.raises(InvalidRequest) as error:
        simulate_program(problem_of(read_parsed(other, SimulationRequest)))
    assert error.value.faults[0].pointer == "/plan/recomputed/ops/0/read_by/0"
    del other["plan"]["recomputed"]
    with pytest.raises(InvalidRequest, match="a/recomputed"):
        simulate_program(problem_of(read_parsed(other, SimulationRequest)))


def test_it_is_drawn_and_exported_nowhere_else() -> None:
    body = request(recompute=["*"])
    asked, answer = problem(body), planned(body)
    assert "a/recomputed" in exported(asked, answer, "chrome").files["trace.json"]
    events = program_timeline(asked, answer)["traceEvents"]
    names = {each["args"]["name"]: each["pid"] for each in events if each["ph"] == "M"}
    drawn = {each["pid"] for each in events if each["name"] == "a/recomputed"}
    assert drawn == {1}
    assert "inductor" in names
    for form in ("xla", "fsdp"):
        with pytest.raises(InvalidPlan) as error:
            exported(asked, answer, form)
        assert error.value.faults[0].pointer == "/recomputed/ops"
        assert "torch.utils.checkpoint" in error.value.faults[0].detail


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"recompute": []}, {("/options/recompute", "out_of_range")}),
        ({"memory_limit_bytes": None}, {("/options/recompute", "extra_field")}),
        (
            {"more_memory_bytes": [9], "robust": "mean"},
            {
                ("/options/more_memory_bytes", "not_supported"),
                ("/options/robust", "not_supported"),
            },
        ),
        (
            {"memory_limit_bytes": None, "memory_limits_bytes": [20, 30]},
            {
                ("/options/recompute", "extra_field"),
                ("/options/memory_limits_bytes", "not_supported"),
            },
        ),
        ({"recompute": ["a", "x*", "g"]}, {("/options/recompute/1", "unknown_op")}),
    ],
)
def test_what_does_not_go_with_it(options: Json, expected: set[tuple[str, str]]) -> None:
    assert refused(request(**{"recompute": ["*"], **options})) == expected


def test_a_what_if_does_not_go_with_it() -> None:
    body = request(recompute=["*"]) | {"what_if": [{"match": "a", "remove": True}]}
    assert refused(body) == {("/what_if", "not_supported")}


def test_the_order_of_xla_and_several_streams_do_not_go_with_it() -> None:
    body = request(recompute=["*"])
    for op in body["graph"]["ops"][1:]:
        op["stream"] = "xla"
    body["graph"]["streams"][0]["name"] = "xla"
    assert refused(body) == {("/options/recompute", "not_supported")}
    body = request(recompute=["*"])
    body["graph"]["ops"][1]["stream"] = "other"
    assert refused(body) == {("/options/recompute", "not_supported")}
