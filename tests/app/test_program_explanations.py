"""Why a program takes so long, on the wire: explained, drawn, changed, with more memory."""

import json

import pytest

from app.errors import InvalidRequest
from app.services.exports import exported
from app.services.plans import solve, timeline
from solver.errors import InvalidPlan
from tests.app.command import Run
from tests.app.service import Json, Service, faults
from tests.app.test_programs import problem, refused, request

#: x of 100 bytes takes 20 us beside w, whose 100 bytes are written and read at once; y needs both.
#: Together they hold 200 bytes, in turn 100: 10 + 20 + 10 us against 10 + 20 + 20 + 10.
ROOMY: Json = {
    "graph": {
        "name": "roomy",
        "ops": [
            {"id": "a", "kind": "compute", "duration_us": 10, "stream": "gpu", "after": []},
            {
                "id": "x",
                "kind": "all_reduce",
                "bytes": 100,
                "channel": "pg",
                "after": ["a"],
                "cut": False,
            },
            {"id": "w", "kind": "compute", "duration_us": 20, "stream": "gpu", "after": ["a"]},
            {"id": "y", "kind": "compute", "duration_us": 10, "stream": "gpu", "after": ["x", "w"]},
        ],
        "streams": [{"name": "gpu", "order": "free"}],
        "buffers": [
            {"id": "of x", "bytes": 100, "written_by": "x", "read_by": ["y"]},
            {"id": "of w", "bytes": 100, "written_by": "w", "read_by": ["w"]},
        ],
    },
    "cluster": {
        "channels": {"pg": {"workers": 2, "algorithm": "table", "table": [[50, 20.0], [200, 20.0]]}}
    },
}


def roomy(**options: object) -> Json:
    body: Json = json.loads(json.dumps(ROOMY))
    return body | {"options": {"copy_gbps": 1000, "time_limit_s": 1, **options}}


def test_on_paper_more_memory_saves() -> None:
    answer = solve(problem(roomy(memory_limit_bytes=199, more_memory_bytes=[1, 99], baselines=[])))
    assert answer.iteration_time_us == 60
    assert answer.summary is not None
    assert "1 B more would save 0.020 ms." in answer.summary
    assert answer.memory is not None
    assert answer.memory.more is not None
    told = [(each.extra_bytes, each.iteration_time_us, each.gain_us) for each in answer.memory.more]
    assert told == [(1, 40, 20), (99, 40, 20)]
    assert [step.reason for step in answer.critical_path or []] == [
        "start",
        "after",
        "stream",
        "after",
    ]
    assert answer.path_times is not None
    assert answer.path_times.channels_us == {"pg": 20}
    assert (answer.path_times.compute_us, answer.path_times.copies_us) == (40, 0)
    (launch,) = answer.launch_reasons or []
    assert (launch.why, launch.by, launch.start_us, launch.could_start_us) == (
        "memory",
        "w",
        30,
        10,
    )
    assert launch.moved is not None
    assert (launch.moved.excess_bytes, launch.moved.iteration_time_us) == (1, 40)
    assert "memory would exceed the limit by 1 B at 0.010 ms" in launch.text


def test_a_front_says_what_memory_saves() -> None:
    answer = solve(problem(roomy(memory_limits_bytes=[199, 200], baselines=[])))
    assert answer.summary is not None
    assert "With 199 B, 1 B more would save 0.020 ms." in answer.summary
    assert answer.iteration_time_us == 40


def test_what_if_keeps_streams_and_buffers() -> None:
    body = roomy(memory_limit_bytes=200, baselines=[])
    gone = solve(problem(body | {"what_if": [{"match": "x", "remove": True}]})).what_if
    assert gone is not None
    assert (gone.iteration_time_us, gone.gain_us, gone.peak_bytes) == (
        40,
        0,
        100,
    )  # x at once, behind w
    half = [{"match": "w", "duration_factor": 0.5}, {"match": "y", "duration_factor": 0.5}]
    shorter = solve(problem(body | {"what_if": half})).what_if
    assert shorter is not None
    assert (shorter.iteration_time_us, shorter.lower_bound_us) == (35, 35)
    assert shorter.compute_time_us == 25


def test_a_what_if_that_matches_nothing() -> None:
    with pytest.raises(InvalidRequest) as error:
        solve(problem(roomy() | {"what_if": [{"match": "none", "remove": True}]}))
    assert [fault.pointer for fault in error.value.faults] == ["/what_if/0/match"]


def test_more_memory_needs_a_limit() -> None:
    extra = {("/options/more_memory_bytes", "extra_field")}
    assert refused(roomy(more_memory_bytes=[1])) == extra
    assert refused(roomy(more_memory_bytes=[1], memory_limits_bytes=[5])) == extra


def _spans(trace: Json, pid: int) -> set[tuple[str, float, float]]:
    events = [event for event in trace["traceEvents"] if event["pid"] == pid]
    return {(e["name"], e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X"}


def test_a_timeline_has_streams_channels_and_memory() -> None:
    asked = problem(roomy(memory_limit_bytes=200, baselines=[]))
    answer = json.loads(solve(asked).model_dump_json())
    trace = timeline(asked, answer, "in_order")
    assert _spans(trace, 1) == {
        ("a", 0, 10),
        ("bucket1", 10, 30),
        ("w", 10, 30),
        ("y", 30, 40),
    }
    assert {name for name, *_ in _spans(trace, 2)} >= {"wait bucket1"}
    counters = [event for event in trace["traceEvents"] if event["ph"] == "C" and event["pid"] == 1]
    level = [(e["ts"], e["args"]["bytes"]) for e in counters if e["name"] == "memory"]
    assert level == [(0, 0), (10, 200), (30, 100), (40, 0)]
    limit = [(e["ts"], e["args"]["bytes"]) for e in counters if e["name"] == "memory limit"]
    assert limit == [(0, 200), (40, 200)]
    assert trace["otherData"]["in_order_iteration_time_us"] == 60
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert names == ["pg", "gpu", "pg", "gpu"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"program": [{"do": "compute", "id": "no"}]}, {"/program/0/id"}),
        ({"program": [{"do": "fly", "id": "a"}]}, {"/program/0/do"}),
        ({"program": [{"do": "compute", "id": "a"}]}, {"/program"}),  # the rest is missing
        ({"buckets": [{"id": "b", "tensors": ["q"]}] * 2, "program": []}, None),
        ({"buckets": []}, None),
    ],
)
def test_what_is_no_program_of_the_graph_is_not_drawn(change: Json, expected: set[str]) -> None:
    asked = problem(roomy(memory_limit_bytes=200, baselines=[]))
    answer = json.loads(solve(asked).model_dump_json()) | change
    with pytest.raises(InvalidPlan) as error:
        timeline(asked, answer)
    assert expected is None or {fault.pointer for fault in error.value.faults} == expected


def test_it_is_exported_for_perfetto() -> None:
    asked = problem(roomy(memory_limit_bytes=200, baselines=[]))
    answer = json.loads(solve(asked).model_dump_json())
    written = exported(asked, answer, "chrome")
    drawn = json.loads(written.files["trace.json"])
    assert drawn["traceEvents"] == timeline(asked, answer)["traceEvents"]
    assert written.plan_time_us == answer["iteration_time_us"] == 40
    del answer["program"]
    with pytest.raises(InvalidPlan, match="no program"):
        exported(asked, answer, "chrome")


def test_over_http(service: Service) -> None:
    told = service.post(request(baselines=[])).json()
    assert [each["bucket"] for each in told["launch_reasons"]] == ["bucket1"]
    drawn = service.client.get(f"/v1/plans/{told['id']}/timeline.json").json()
    assert drawn["otherData"]["peak_bytes"] == told["peak_bytes"]
    assert {event["ph"] for event in drawn["traceEvents"]} == {"M", "X", "C"}
    place = f"/v1/plans/{told['id']}/timeline.json"
    beside = service.client.get(place, params={"beside": "simple_overlap"}).json()
    assert "simple_overlap_iteration_time_us" in beside["otherData"]
    refused = service.client.get(place, params={"beside": "ddp"})
    assert faults(refused) == {("/query/beside", "not_supported")}
    bad = service.post(request() | {"what_if": [{"match": "none", "remove": True}]})
    assert faults(bad) == {("/what_if/0/match", "unknown_op")}


def test_the_command_says_it(run: Run, tmp_path) -> None:
    path = tmp_path / "roomy.json"
    body = roomy(baselines=[])
    for buffer in body["graph"]["buffers"]:
        buffer["bytes"] = 2**30
    path.write_text(json.dumps(body))
    limit = ("--memory-limit-gib", "1.5", "--more-memory-gib", "0.5")
    done = run("plan", str(path), *limit, "--what-if", "w=duration*0.5")
    assert (done.returncode, done.stderr) == (0, "")
    page = " ".join(done.stdout.split())
    assert "512.000 MiB more would save 0.020 ms." in page
    assert "bucket1 starts at 0.030 ms, after 'w': asked for before 'w' it would start" in page
    assert "with the ops changed: saves 0.010 ms" in page


def test_a_graph_of_its_own_streams_is_drawn() -> None:
    """Ops without a stream are in as many threads as run at once; copies are in their bucket's."""
    body = roomy(baselines=["in_order"])
    for op in body["graph"]["ops"]:
        op.pop("stream", None)
    body["graph"].pop("streams")
    body["graph"]["ops"].insert(2, {**body["graph"]["ops"][1], "id": "x2"})
    body["graph"]["ops"][4]["after"].append("x2")
    asked = problem(body)
    answer = json.loads(solve(asked).model_dump_json())
    trace = timeline(asked, answer)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert names.count("compute") >= 2
