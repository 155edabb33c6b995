"""Programs on the wire: free streams, buffers, limits of memory, and what does not go with them."""

import copy
import gzip
import json
from pathlib import Path

import pytest

from app.errors import InvalidRequest
from app.reading.compiled_graphs import compiled_request, is_compiled
from app.reading.requests import problem_of, read_body, read_parsed
from app.schemas.plans import PlanAnswer, PlanRequest
from app.schemas.problem import CheckedRequest, graph_json, graph_sha256, graph_text
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest
from app.services.plans import solve
from solver.costs import network_of
from solver.graph import build
from solver.programs.check import program_faults
from solver.programs.execute import execute
from solver.programs.problem import ProgramProblem
from solver.programs.program import HostStep, Program
from tests.app.command import Run
from tests.app.compiled import COMPILED
from tests.app.service import Json, Service, faults, two_layers
from tests.programs.shared import FOLDER


def request(**options: object) -> Json:
    body = copy.deepcopy(compiled_request(COMPILED))
    return body | {"options": {"copy_gbps": 26_800, "time_limit_s": 1, **options}}


def problem(body: Json) -> CheckedRequest[PlanRequest]:
    return problem_of(read_parsed(body, PlanRequest))


def refused(body: Json, model: type = PlanRequest) -> set[tuple[str, str]]:
    with pytest.raises(InvalidRequest) as error:
        read_parsed(body, model)
    return {(fault.pointer, fault.code.value) for fault in error.value.faults}


def replayed(body: Json, answer: Json) -> tuple[float, int]:
    """Run the program of an answer by its names alone: its time and its peak."""
    asked = problem(body)
    graph = asked.graph
    places = {op.id: i for i, op in enumerate(graph.ops)}
    numbers = {bucket["id"]: b for b, bucket in enumerate(answer["buckets"])}
    steps = [
        HostStep(each["do"], places[each["id"]] if each["do"] == "compute" else numbers[each["id"]])
        for each in answer["program"]
    ]
    members = [tuple(places[name] for name in each["tensors"]) for each in answer["buckets"]]
    network = network_of(asked.request.cluster.to_cluster())
    problem_ = ProgramProblem(graph, network, asked.request.options.copy_gbps or 26_800.0)
    program = Program(tuple(members), tuple(steps))
    assert not list(program_faults(problem_, program))
    run = execute(problem_, program)
    return run.iteration_time, run.peak_bytes


def test_a_compiled_graph_is_read_as_it_is() -> None:
    assert is_compiled(COMPILED)
    assert not is_compiled({"ops": []})
    graph = problem(request()).graph
    assert graph.free == ("gpu",)
    assert [op.cut for op in graph.ops] == [True, False, True, True]
    assert graph.buffers[1].written_by == "x"
    assert all(len(preds) <= 1 for preds in graph.preds)


def test_a_program_on_paper() -> None:
    """The gather is beside c in any good program: 5 + 10 + 5; one after another 28."""
    answer = solve(problem(request(baselines=["in_order"])))
    assert answer.compute_time_us == 18
    assert 20 <= answer.iteration_time_us <= 28
    (baseline,) = answer.baselines
    assert (baseline.iteration_time_us, baseline.peak_bytes) == (28, 1010)
    assert answer.lower_bound_us <= 20
    (gain,) = answer.headline.gains
    assert (gain.over, gain.today_us, gain.plan_us) == ("inductor", 20, answer.iteration_time_us)
    told = json.loads(answer.model_dump_json())
    assert replayed(request(), told) == (answer.iteration_time_us, answer.peak_bytes)
    assert answer.memory.profile[-1][0] <= answer.iteration_time_us
    assert max(size for _, size in answer.memory.profile) == answer.peak_bytes
    assert sum(each.bytes for each in answer.memory.at_peak) == answer.peak_bytes
    (part,) = answer.schedule.parts
    assert (part.bucket, part.end_us - part.start_us) == ("bucket1", 10)


def test_an_answer_is_read_back() -> None:
    text = solve(problem(request(memory_limits_bytes=[5000, 2000]))).model_dump_json()
    assert PlanAnswer.model_validate_json(text).model_dump_json() == text
    front = json.loads(text)["front"]
    assert [point["memory_limit_bytes"] for point in front] == [5000, 2000]
    assert all(point["peak_bytes"] <= point["memory_limit_bytes"] for point in front)


def test_what_is_assumed_is_said() -> None:
    body = request()
    del body["options"]["copy_gbps"]
    codes = [warning.code for warning in solve(problem(body)).warnings]
    assert "copy_speed_assumed" in codes
    assert "copy_speed_assumed" not in [w.code for w in solve(problem(request())).warnings]


def test_an_option_that_makes_a_program_of_a_given_order_is_warned_of() -> None:
    def warned(**options: bool) -> list[str]:
        answer = solve(problem(two_layers(copy_gbps=1000, baselines=[], **options)))
        assert answer.program
        return [warning.pointer for warning in answer.warnings]

    assert "/options/copy_gbps" in warned()
    assert "/options/copy_gbps" not in warned(host_order=True)
    assert "/options/copy_gbps" not in [w.pointer for w in solve(problem(request())).warnings]


def test_a_graph_goes_through_text_and_back() -> None:
    graph = problem(request()).graph
    assert json.loads(graph_text(graph)) == graph_json(graph)
    body = request() | {"graph": json.loads(graph_text(graph))}
    again = problem_of(read_body(json.dumps(body).encode(), PlanRequest)).graph
    assert again == graph
    others = [
        build(graph.name, graph.ops, (), graph.free),
        build(graph.name, graph.ops, graph.buffers),
    ]
    assert len({graph_sha256(each) for each in [graph, *others]}) == 3


def test_a_graph_without_these_fields_has_the_text_of_before() -> None:
    graph = problem(two_layers()).graph
    assert graph_text(graph) == json.dumps(graph_json(graph), sort_keys=True, separators=(",", ":"))
    assert not {"buffers", "streams", "cut"} & set(graph_text(graph).split('"'))
    answer = json.loads(solve(problem(two_layers())).model_dump_json())
    assert not {"program", "peak_bytes", "memory", "front", "launch_reasons"} & answer.keys()
    assert (
        not {"host_order", "copy_gbps", "memory_limit_bytes"} & answer["request"]["options"].keys()
    )
    assert "peak_bytes" not in answer["baselines"][0]
    assert "start_us" not in answer["buckets"][0]


def test_an_ordinary_graph_is_planned_as_a_program_when_asked() -> None:
    answer = solve(problem(two_layers(host_order=True, baselines=["in_order"])))
    assert answer.program
    assert answer.peak_bytes == 0
    assert {step.do for step in answer.program} >= {"compute", "launch", "wait"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"barrier": True}, {("/options/barrier", "extra_field")}),
        (
            {"fusion": "none", "schedule": "lp", "slot_us": 1.0},  # all at once
            {
                ("/options/fusion", "extra_field"),
                ("/options/schedule", "extra_field"),
                ("/options/slot_us", "extra_field"),
            },
        ),
        ({"baselines": ["in_order", "ddp"]}, {("/options/baselines/1", "out_of_range")}),
        (
            {"memory_limit_bytes": 9, "memory_limits_bytes": [9]},
            {("/options/memory_limits_bytes", "extra_field")},
        ),
        ({"memory_limit_bytes": 0}, {("/options/memory_limit_bytes", "out_of_range")}),
        ({"memory_limits_bytes": []}, {("/options/memory_limits_bytes", "out_of_range")}),
        ({"more_memory_bytes": [9]}, {("/options/more_memory_bytes", "extra_field")}),
        ({"copy_gbps": 0}, {("/options/copy_gbps", "out_of_range")}),
        ({"margin_us": -1}, {("/options/margin_us", "out_of_range")}),
    ],
)
def test_options_that_do_not_fit(options: Json, expected: set[tuple[str, str]]) -> None:
    assert refused(request(**options)) == expected


def test_what_does_not_go_with_a_program() -> None:
    body = request()
    body["cluster"] |= {"compute_slowdown": 2}
    body["cluster"]["channels"]["pg"]["shares"] = "nic"
    assert refused(body) == {
        ("/cluster/compute_slowdown", "extra_field"),
        ("/cluster/channels/pg/shares", "extra_field"),
    }


def test_limits_without_buffers_and_policies_of_programs_elsewhere() -> None:
    limited = two_layers(memory_limit_bytes=9, baselines=["in_order"])
    assert refused(limited) == {("/options/memory_limit_bytes", "extra_field")}
    assert refused(two_layers(baselines=["in_order"])) == {("/options/baselines/0", "out_of_range")}


def test_buffers_and_streams_that_do_not_fit() -> None:
    body = request()
    graph = body["graph"]
    graph["streams"] += [{"name": "gpu", "order": "free"}, {"name": "cpu", "order": "free"}]
    graph["buffers"] += [
        {"id": "out", "bytes": 1, "written_by": "no"},
        {"id": "late", "bytes": 1, "written_by": "b", "read_by": ["a"]},
    ]
    assert refused(body) == {
        ("/graph/streams/1/name", "duplicate_id"),
        ("/graph/streams", "unknown_op"),
        ("/graph/buffers/3/id", "duplicate_id"),
        ("/graph/buffers/3/written_by", "unknown_op"),
        ("/graph/buffers/4/read_by/0", "out_of_range"),
    }
    graph["buffers"] = [{"id": "x", "bytes": -1}, {"bytes": 1}]
    assert {
        ("/graph/buffers/0/bytes", "out_of_range"),
        ("/graph/streams", "unknown_op"),
    } <= refused(body)


@pytest.mark.parametrize(
    ("model", "more", "place"),
    [
        (SimulationRequest, {"policy": "ddp"}, "/policy"),
        (SweepRequest, {"workers": [2, 4], "policies": ["ddp"]}, "/policies/0"),
    ],
)
def test_no_policy_of_launches_runs_a_free_stream_silently(
    model: type, more: Json, place: str
) -> None:
    body = {key: value for key, value in request().items() if key != "options"} | more
    assert refused(body, model) == {(place, "out_of_range")}


def test_workers_may_be_left_out_where_all_channels_have_them() -> None:
    body = request()
    assert "workers" not in body["cluster"]
    problem(body)
    del body["cluster"]["channels"]["pg"]["workers"]
    assert refused(body) == {("/cluster/workers", "missing_field")}
    plain = two_layers()
    del plain["cluster"]["workers"]
    assert ("/cluster/workers", "missing_field") in refused(plain)


def test_over_http(service: Service) -> None:
    answer = service.post(request(baselines=["in_order"]))
    assert answer.status_code == 201
    told = answer.json()
    assert replayed(request(), told) == (told["iteration_time_us"], told["peak_bytes"])
    wrong = service.post(request(barrier=True))
    assert wrong.status_code == 422
    assert faults(wrong) == {("/options/barrier", "extra_field")}
    written = service.client.get(f"/v1/plans/{told['id']}/export?format=ddp")
    assert faults(written) == {("/program", "not_supported")}
    flags = service.client.get(f"/v1/plans/{told['id']}/export?format=xla").json()
    assert flags["plan_time_us"] == told["iteration_time_us"]
    assert "combine_threshold_bytes" in flags["files"][0]["text"]
    units = service.client.get(f"/v1/plans/{told['id']}/export?format=fsdp")
    assert {code for _, code in faults(units)} == {"not_sharded"}
    chain = service.post(two_layers()).json()
    other = service.client.get(f"/v1/plans/{chain['id']}/export?format=xla")
    assert faults(other) == {("", "not_supported")}


def test_a_stored_graph_is_planned_by_its_id(service: Service) -> None:
    kept = service.client.post(
        "/v1/graphs", content=gzip.compress(json.dumps(COMPILED).encode())
    ).json()
    assert kept["graph"] == json.loads(graph_text(problem(request()).graph))
    body = request() | {"graph_id": kept["id"]}
    del body["graph"]
    by_id, whole = service.post(body).json(), service.post(request()).json()
    same = ("program", "peak_bytes", "iteration_time_us", "memory")
    assert [by_id[name] for name in same] == [whole[name] for name in same]


def test_the_command_reads_and_prints_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "small.json.gz"
    path.write_bytes(gzip.compress(json.dumps(COMPILED).encode()))
    limits = ("--memory-limit-gib", "0.00001", "--memory-limit-gib", "1")
    done = run("plan", str(path), "--json", *limits, "--margin-ms", "0", "--max-bucket-mib", "1")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert [each["memory_limit_bytes"] for each in told["front"]] == [2**30, 10737]
    assert told["request"]["options"]["max_bucket_bytes"] == 2**20
    page = run("plan", str(path), *limits).stdout
    assert "small on 1 channel\nchannel pg: 4 workers, table" in page
    assert "Gbit/s" not in page.partition("Warning")[0]
    assert "Program of " in page
    assert "Memory: " in page
    wrong = run("plan", str(path), "--barrier")
    assert wrong.returncode != 0
    assert "barrier" in wrong.stderr


def test_limits_that_have_no_program(run: Run, tmp_path: Path) -> None:
    """An answer says of which limit there is none; without any plan the flag is at fault."""
    path = tmp_path / "small.json"
    path.write_text(json.dumps(COMPILED))
    little, less, much = "0.00000093", "0.00000092", "1"  # 1,010 bytes are needed
    done = run("plan", str(path), "--json", *limited(little, much))
    assert (done.returncode, done.stderr) == (0, "")
    most, least = json.loads(done.stdout)["front"]
    assert (most["why_not"], least["iteration_time_us"]) == (None, None)
    assert "the least found takes 1,010 bytes" in least["why_not"]
    for limits in (limited(little), limited(less, little)):
        done = run("plan", str(path), *limits)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("interlace: --memory-limit-gib: No program was found")
        assert "takes at most 999 bytes" in line


def test_the_limit_that_has_no_program_is_named_in_its_place() -> None:
    with pytest.raises(InvalidRequest, match="at most 999 bytes") as caught:
        solve(problem(request(memory_limits_bytes=[988, 999])))
    assert [fault.pointer for fault in caught.value.faults] == ["/options/memory_limits_bytes/1"]


def limited(*limits_gib: str) -> tuple[str, ...]:
    return tuple(word for limit in limits_gib for word in ("--memory-limit-gib", limit))


@pytest.mark.parametrize(
    "words",
    [
        ("plan", *limited("3")),
        ("plan", *limited("3", "5.2")),
        ("plan", *limited("3"), "--more-memory-gib", "1", "--barrier", "--baseline", "ddp"),
        ("simulate", *limited("3"), "--policy", "ddp", "--barrier"),
        ("sweep", *limited("3"), "--policy", "ddp", "--barrier"),
    ],
)
def test_a_limit_without_buffers_is_said_once(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Policies and options of a chain would be right without it."""
    path = tmp_path / "two.json"
    path.write_text(json.dumps({**two_layers(), "options": {"baselines": ["wfbp", "pace"]}}))
    done = run(words[0], str(path), *words[1:])
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("interlace: --memory-limit-gib: ")
    assert line.endswith("needs a graph with buffers.")


def test_what_else_asks_for_a_program_is_said_beside_a_limit() -> None:
    chain = two_layers(memory_limit_bytes=9, copy_gbps=3, baselines=["wfbp"])
    assert refused(chain) == {
        ("/options/memory_limit_bytes", "extra_field"),
        ("/options/baselines/0", "out_of_range"),
    }


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the shared graphs are not here")
@pytest.mark.live  # five seconds of CPU
def test_a_shared_graph_through_the_command(run: Run) -> None:
    file = str(FOLDER / "llama3_8b_fw_64_2d.json.gz")
    done = run("plan", file, "--memory-limit-gib", "8", "--time-limit", "2", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    raw = json.loads(gzip.decompress(Path(file).read_bytes()))
    expected = (told["iteration_time_us"], told["peak_bytes"])
    assert replayed(compiled_request(raw), told) == expected
    assert told["peak_bytes"] <= 8 * 2**30


def test_the_command_exports_a_program_and_no_other_plan_as_one(run: Run, tmp_path: Path) -> None:
    graph, plan = tmp_path / "small.json", tmp_path / "plan.json"
    graph.write_text(json.dumps(COMPILED))
    printed = run("plan", str(graph), "--json").stdout
    plan.write_text(printed)
    done = run("export", str(graph), "--plan", str(plan), "--format", "xla")
    assert done.returncode == 0
    assert done.stdout.startswith('XLA_FLAGS="--xla_gpu_')
    assert f"the plan {json.loads(printed)['iteration_time_us'] / 1e3:.3f} ms." in done.stderr
    for flags in (["--plan", str(plan)], []):  # with a plan, or one made now
        done = run("export", str(graph), *flags, "--format", "ddp", "--out", str(tmp_path))
        assert done.returncode == 1
        assert "/program: ddp is not written of a program" in done.stderr
    chain = tmp_path / "two.json"
    chain.write_text(json.dumps(two_layers()))
    done = run("export", str(chain), "--format", "xla")
    assert done.returncode == 1
    assert "xla is written of programs only" in done.stderr
    told = json.loads(printed)
    told["program"][0]["id"] = "nowhere"
    plan.write_text(json.dumps(told))
    done = run("export", str(graph), "--plan", str(plan), "--format", "xla")
    assert (done.returncode, "'nowhere'" in done.stderr) == (1, True)
    plan.write_text(json.dumps(told | {"program": None}))
    done = run("export", str(graph), "--plan", str(plan), "--format", "xla")
    assert (done.returncode, "no program as plan --json" in done.stderr) == (1, True)
    told = json.loads(printed)
    del told["program"][-1]
    plan.write_text(json.dumps(told))
    done = run("export", str(graph), "--plan", str(plan), "--format", "xla")
    assert (done.returncode, "/program" in done.stderr) == (1, True)
    request: Json = {"options": {}}  # a program for a graph that is none
    plan.write_text(json.dumps(json.loads(printed) | {"request": request}))
    done = run("export", str(chain), "--plan", str(plan), "--format", "ddp", "--out", str(tmp_path))
    assert (done.returncode, "This plan is a program" in done.stderr) == (1, True)
