"""Simulations of programs: rules of today and programs that are given, on the wire."""

import copy
import gzip
import json
from pathlib import Path

import pytest

from app.errors import InvalidRequest
from app.reading.compiled_graphs import compiled_request
from app.reading.requests import problem_of, read_body, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.simulations import SimulationAnswer, SimulationRequest
from app.services.plans import solve
from app.services.simulations import run as simulated
from app.services.simulations import timeline
from tests.app.command import Run
from tests.app.compiled import COMPILED
from tests.app.service import Json, Service, faults, two_layers
from tests.programs.shared import FOLDER

PATH = "/v1/simulations"

EMPTY: Json = {"buckets": [], "schedule": {"parts": []}, "program": []}


def body(**fields: object) -> Json:
    return copy.deepcopy(compiled_request(COMPILED)) | fields


def planned(**options: object) -> Json:
    asked = body(options={"copy_gbps": 26_800, "time_limit_s": 1, **options})
    found: Json = json.loads(solve(problem_of(read_parsed(asked, PlanRequest))).model_dump_json())
    return found


def ran(asked: Json) -> SimulationAnswer:
    return simulated(problem_of(read_parsed(asked, SimulationRequest)))


def refused(asked: Json) -> set[tuple[str, str]]:
    with pytest.raises(InvalidRequest) as error:
        ran(asked)
    return {(fault.pointer, fault.code.value) for fault in error.value.faults}


def test_the_given_order_on_paper() -> None:
    """The program a, x, b, c takes 5 + 10 + 5 + 8 us; 1000 of memory from 5 to 20 us."""
    answer = ran(body(policy="in_order"))
    assert (answer.iteration_time_us, answer.compute_time_us, answer.exposed_us) == (28, 18, 10)
    assert answer.overlap == 0
    assert answer.peak_bytes == 1010
    assert [f"{step.do} {step.id}" for step in answer.program or ()] == [
        "compute a",
        "launch bucket1",
        "wait bucket1",
        "compute b",
        "compute c",
    ]
    (channel,) = answer.channels
    assert (channel.channel, channel.busy_us, channel.bytes, channel.launches) == (
        "pg",
        10,
        1000,
        1,
    )
    assert sum(channel.busy) / len(channel.busy) == pytest.approx(10 / 28)
    assert answer.policy.policy == "in_order"
    assert answer.summary.startswith("Compute limits this program: its critical path of 0.028 ms")
    assert [w.code for w in answer.warnings].count("copy_speed_assumed") == 1


def test_rules_are_as_a_plan_compares_with_them() -> None:
    limit = {"memory_limit_bytes": 1010, "max_bucket_bytes": 5000}
    for baseline in planned(**limit)["baselines"]:
        asked = body(policy=baseline["policy"], options={"copy_gbps": 26_800, **limit})
        answer = ran(asked)
        assert answer.iteration_time_us == baseline["iteration_time_us"]
        assert answer.peak_bytes == baseline["peak_bytes"]
        assert answer.memory.limit_bytes == 1010
        assert json.loads(answer.model_dump_json())["request"]["options"] == {
            "copy_gbps": 26_800,
            **limit,
        }


def test_an_answer_of_a_plan_takes_what_it_says() -> None:
    plan = planned()
    answer = ran(body(plan=plan, options={"copy_gbps": 26_800}))
    assert answer.policy is None
    told = json.loads(answer.model_dump_json())
    same = ("iteration_time_us", "peak_bytes", "program", "buckets", "memory", "launch_reasons")
    assert [told[name] for name in same] == [plan[name] for name in same]
    asked = json.dumps(body(plan=told, options={"copy_gbps": 26_800})).encode()
    again = read_body(asked, SimulationRequest)
    assert simulated(problem_of(again)).iteration_time_us == plan["iteration_time_us"]
    assert SimulationAnswer.model_validate_json(answer.model_dump_json()) == answer


def test_more_memory_than_allowed_is_said() -> None:
    answer = ran(body(policy="in_order", options={"memory_limit_bytes": 1000}))
    assert "It takes 1,010 B at 0.015 ms, 10 B above the limit." in answer.summary
    assert "above the limit" not in ran(body(policy="in_order")).summary


def test_a_what_if_makes_the_program_anew_or_carries_it_over() -> None:
    slower = [{"match": "c", "duration_factor": 2}]
    rule = ran(body(policy="in_order", what_if=slower)).what_if
    assert (rule.iteration_time_us, rule.gain_us, rule.peak_bytes) == (36, -8, 1010)
    plan = ran(body(policy="in_order"))
    given = {"plan": json.loads(plan.model_dump_json())}
    assert ran(body(**given, what_if=slower)).what_if.iteration_time_us == 36
    gone = [{"match": "x", "remove": True}]
    assert ran(body(policy="in_order", what_if=gone)).what_if.iteration_time_us == 18
    assert refused(body(**given, what_if=gone)) == {("/what_if", "not_supported")}
    assert refused(body(**given, what_if=[{"match": "q", "remove": True}])) == {
        ("/what_if/0/match", "unknown_op")
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"policy": "ddp"}, {("/policy", "out_of_range")}),  # a policy of launches in an order
        ({}, {("/policy", "missing_field")}),
        ({"policy": {"policy": "xla_lhs", "barrier": True}}, {("/policy/barrier", "extra_field")}),
        ({"policy": "xla_lhs", "barrier": True}, {("/barrier", "extra_field")}),
        ({"policy": "xla_lhs", "jitter": {"spread": 0.1}}, {("/jitter", "not_supported")}),
        (  # a plan of another graph's launches, without a program
            {"plan": {"buckets": [], "schedule": {"parts": []}}},
            {("/plan/program", "missing_field")},
        ),
        (
            {"plan": EMPTY},
            {("/plan/buckets", "missing_field")},
        ),
        (
            {
                "plan": {"buckets": [], "schedule": {"parts": []}, "program": []},
                "policy": "in_order",
            },
            {("/plan", "extra_field")},
        ),
    ],
)
def test_what_does_not_fit(fields: Json, expected: set[tuple[str, str]]) -> None:
    assert refused(body(**fields)) == expected


def test_the_cluster_of_a_program() -> None:
    asked = body(policy="in_order")
    asked["cluster"]["compute_slowdown"] = 2
    asked["graph"]["buffers"] = []
    asked["options"] = {"memory_limit_bytes": 7}
    assert refused(asked) == {
        ("/cluster/compute_slowdown", "extra_field"),
        ("/options/memory_limit_bytes", "extra_field"),
    }


def test_a_graph_of_given_order_as_a_program_when_asked() -> None:
    """A rule of programs asks for one, and so does the program of an answer."""
    chain = two_layers()
    options = chain.pop("options")
    rule = ran(chain | {"policy": "in_order"})
    assert rule.program is not None
    assert ran(chain | {"policy": "wfbp"}).program is None
    assert "options" not in json.loads(ran(chain | {"policy": "wfbp"}).model_dump_json())["request"]
    del options["fusion"], options["slot_us"]
    asked = chain | {"options": {"host_order": True, "time_limit_s": 1}}
    plan = solve(problem_of(read_parsed(asked, PlanRequest)))
    given = ran(chain | {"plan": json.loads(plan.model_dump_json())})
    assert given.iteration_time_us == plan.iteration_time_us
    assert refused(chain | {"policy": "wfbp", "options": {"copy_gbps": 100}}) == {
        ("/policy", "out_of_range")
    }


def test_predictions_refuse_a_program() -> None:
    with pytest.raises(InvalidRequest) as error:
        read_parsed(body(workers=[2, 4]), PredictionRequest)
    assert ("/graph", "not_supported") in {(f.pointer, f.code.value) for f in error.value.faults}


def test_a_trace_of_it() -> None:
    problem = problem_of(read_parsed(body(policy="xla_lhs"), SimulationRequest))
    trace = timeline(problem)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert names == ["xla_lhs", "inductor"]
    assert trace["otherData"]["iteration_time_us"] == simulated(problem).iteration_time_us
    assert {"memory"} <= {event["name"] for event in trace["traceEvents"]}


def test_over_http(service: Service) -> None:
    answer = service.post(body(policy="xla_lhs"), PATH)
    assert answer.status_code == 201
    told = answer.json()
    at = f"{PATH}/{told['id']}"
    drawn = service.client.get(f"{at}/timeline.json").json()
    assert drawn["otherData"]["peak_bytes"] == told["peak_bytes"]
    flags = service.client.get(f"{at}/export?format=xla").json()
    assert flags["plan_time_us"] == told["iteration_time_us"]
    assert faults(service.client.get(f"{at}/export?format=ddp")) == {("/program", "not_supported")}
    again = service.post(body(plan=told), PATH).json()
    assert again["iteration_time_us"] == told["iteration_time_us"]
    wrong = service.post(body(policy="ddp"), PATH)
    assert faults(wrong) == {("/policy", "out_of_range")}


def test_by_the_command(run: Run, tmp_path: Path) -> None:
    graph, plan = tmp_path / "small.json", tmp_path / "plan.json"
    graph.write_text(json.dumps(COMPILED))
    done = run("simulate", str(graph), "--json", "--memory-limit-gib", "1")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["policy"]["policy"], told["iteration_time_us"]) == ("in_order", 28)
    assert told["memory"]["limit_bytes"] == 2**30
    plan.write_text(run("plan", str(graph), "--json", "--copy-gbps", "99").stdout)
    made = json.loads(plan.read_text())
    done = run("simulate", str(graph), "--plan", str(plan), "--json")
    again = json.loads(done.stdout)
    assert again["iteration_time_us"] == made["iteration_time_us"]
    assert again["request"]["options"] == {"copy_gbps": 99}
    page = run("simulate", str(graph), "--policy", "simple_overlap").stdout
    assert "Inductor's simple overlap" in page
    assert "Memory: " in page
    assert "Program of " in page
    wrong = run("simulate", str(graph), "--policy", "ddp")
    assert wrong.returncode == 2
    assert "--policy: ddp is not defined where a program is simulated" in wrong.stderr
    written = run("export", str(graph), "--policy", "inductor", "--format", "xla")
    assert written.returncode == 0
    assert written.stdout.startswith('XLA_FLAGS="--xla_gpu_')


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the shared graphs are not here")
def test_a_shared_graph() -> None:
    raw = json.loads(gzip.decompress((FOLDER / "llama3_8b_fw_64_2d.json.gz").read_bytes()))
    answer = ran(compiled_request(raw) | {"policy": "inductor"})
    assert answer.iteration_time_us >= answer.compute_time_us > 80_000
    asked = compiled_request(raw) | {"plan": json.loads(answer.model_dump_json())}
    again = ran(asked)
    assert (again.iteration_time_us, again.peak_bytes) == (
        answer.iteration_time_us,
        answer.peak_bytes,
    )
