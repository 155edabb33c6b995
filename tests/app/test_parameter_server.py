"""POST /v1/predictions/parameter-server: rows, knees, refusals, tables, plots, timelines."""

import copy
import csv
import io
import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.limits import MAX_STEP_EDGES, MAX_STEP_OPS
from app.reading.requests import read_parsed
from app.routers.parameter_servers import EXAMPLE
from app.schemas.parameter_servers import ParameterServerAnswer, ParameterServerRequest
from app.services.parameter_servers import run as service_run
from app.services.parameter_servers import views
from app.services.parameter_servers.run import run
from solver.errors import Fault
from solver.limits import MAX_FAULTS_SOUGHT
from solver.parameter_server.orders import ORDERS
from tests.app.service import Json, Service, faults, two_layers
from tests.waiting import until

PATH = "/v1/predictions/parameter-server"
#: 12,500 bytes of a step each way take 10 us at 10 Gbit/s; all of it takes 50 us without others.
BY_HAND: Json = {
    "steps": [
        {
            "ops": [
                {"id": "pull", "resource": "downlink", "bytes": 12_500},
                {"id": "work", "resource": "worker", "duration_us": 25, "after": ["pull"]},
                {"id": "push", "resource": "uplink", "bytes": 12_500, "after": ["work"]},
                {"id": "update", "resource": "server", "duration_us": 5, "after": ["push"]},
            ]
        }
    ],
    "batch_size": 100,
    "bandwidths_gbps": [10],
    "simulated_steps": 60,
    "dropped_steps": 10,
}
#: Two servers, two profiled steps, two bandwidths.
TWO_SERVERS: Json = {
    "name": "two servers",
    "steps": [
        {
            "ops": [
                {"id": "a", "resource": "downlink:ps1", "bytes": size},
                {"id": "b", "resource": "downlink:ps2", "bytes": 2 * size},
                {"id": "c", "resource": "worker", "duration_us": 2_000, "after": ["a", "b"]},
                {"id": "d", "resource": "uplink:ps1", "bytes": size, "after": ["c"]},
                {"id": "e", "resource": "uplink:ps2", "bytes": 2 * size, "after": ["c"]},
                {"id": "f", "resource": "server:ps2", "duration_us": 100, "after": ["e"]},
            ]
        }
        for size in (400_000, 500_000)
    ],
    "batch_size": 8,
    "workers": [4, 1, 2],
    "bandwidths_gbps": [10, 1],
    "simulated_steps": 80,
    "dropped_steps": 8,
}


def by_hand(**fields: Any) -> Json:
    return copy.deepcopy(BY_HAND) | fields


def ran(body: Json) -> ParameterServerAnswer:
    return run(*read_parsed(body, ParameterServerRequest))


def refused(body: Json) -> tuple[Fault, ...]:
    with pytest.raises(InvalidRequest) as caught:
        ran(body)
    return caught.value.faults


@pytest.fixture(scope="module")
def posted(service: Service) -> Json:
    answer = service.post(TWO_SERVERS, PATH)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    assert answer.headers["location"] == f"{PATH}/{found['id']}"
    return found


def test_one_worker_and_workers_in_step_by_hand(service: Service) -> None:
    found = service.post(by_hand(workers=[1, 2], spread=0, synchronous=True), PATH).json()
    one, two = found["rows"]
    # 100 examples in 50 us
    assert one["examples_per_s"] == pytest.approx(2e6)
    assert one["step_us"] == pytest.approx(50)
    assert one["low_examples_per_s"] == pytest.approx(2e6)
    shares = {use["resource"]: use["share"] for use in one["utilisation"]}
    assert shares == {
        "worker": pytest.approx(0.5),
        "server": pytest.approx(0.1),
        "uplink": pytest.approx(0.2),
        "downlink": pytest.approx(0.2),
    }
    gains = {faster["resource"]: faster["gain"] for faster in one["what_if"]}
    assert gains["worker"] == pytest.approx(50 / 37.5 - 1)
    assert gains["downlink"] == pytest.approx(50 / 45 - 1)
    assert one["limited_by"] == "worker"
    # both share each link: 20 + 25 + 20 + 5 us
    assert two["examples_per_s"] == pytest.approx(2 * 100 / 70e-6)
    assert two["bound_examples_per_s"] == pytest.approx(4e6)
    (knee,) = found["knees"]
    assert knee["workers"] is None
    assert knee["ceiling_examples_per_s"] == pytest.approx(100 / 10e-6)


def test_rows_ascend_and_say_what_they_are(posted: Json) -> None:
    places = [(row["bandwidth_gbps"], row["workers"]) for row in posted["rows"]]
    assert places == [(b, w) for b in (1, 10) for w in (1, 2, 4)]
    assert [knee["bandwidth_gbps"] for knee in posted["knees"]] == [1, 10]
    assert posted["name"] == "two servers"
    assert posted["profiled_steps"] == 2
    names = [f"{kind}:{server}" for kind in ("server", "uplink", "downlink") for server in PS]
    for row in posted["rows"]:
        assert [use["resource"] for use in row["utilisation"]] == ["worker", *names]
        assert row["low_examples_per_s"] <= row["examples_per_s"] <= row["high_examples_per_s"]
        assert [faster["resource"] for faster in row["what_if"]] == [
            "worker", "server", "uplink", "downlink", "links",
        ]  # fmt: skip
        assert row["services"] > 0
    assert any(note.startswith("Lin et al.: ") for note in posted["notes"])
    assert any(note.startswith("Cynthia ") for note in posted["notes"])
    assert any(note.startswith("Not in the model: ") for note in posted["notes"])
    assert posted["warnings"] == []


PS = ("ps1", "ps2")


def test_the_request_is_repeated_with_its_defaults(posted: Json) -> None:
    asked = {**posted["request"]}
    assert len(asked.pop("steps_sha256")) == 64
    assert asked == {
        "graph_sha256": None,
        "servers": None,
        "update_us_per_byte": None,
        "batch_size": 8,
        "workers": [4, 1, 2],
        "bandwidths_gbps": [10, 1],
        "flow_control": True,
        "win_bytes": 28_000_000,
        "parse_us_per_byte": 0,
        "parse_us": 0,
        "order": "fifo",
        "simulated_steps": 80,
        "dropped_steps": 8,
        "seed": 0,
        "synchronous": False,
        "fit": False,
        "spread": None,
        "explain": True,
    }


def test_found_again_listed_and_deleted(service: Service, posted: Json) -> None:
    assert service.client.get(f"{PATH}/{posted['id']}").json() == posted
    (newest,) = service.client.get(f"{PATH}?limit=1").json()["predictions"]
    assert newest["rows"] >= 1
    more = service.post(by_hand(workers=[1], name="to delete"), PATH).json()
    place = f"{PATH}/{more['id']}"
    assert service.client.get(f"{PATH}?limit=1").json()["predictions"][0]["name"] == "to delete"
    assert service.client.delete(place).status_code == 204
    gone = service.client.get(place)
    assert (gone.status_code, gone.json()["detail"]) == (404, "No prediction has this id.")
    for end in ("table.csv", "throughput-by-workers.svg", "timeline.json"):
        assert service.client.get(f"{place}/{end}").status_code == 404


def test_the_same_question_is_the_same_answer(posted: Json) -> None:
    same = {"runtime_s": 0.0}
    texts = {
        ran(TWO_SERVERS).model_copy(update=same).model_dump_json(),
        ran(TWO_SERVERS).model_copy(update=same).model_dump_json(),
        ParameterServerAnswer(**posted).model_copy(update=same).model_dump_json(),
    }
    assert len(texts) == 1


def test_it_is_followed_and_cancelled_and_keeps_no_plan_waiting(service: Service) -> None:
    long = by_hand(workers=[100, 200], simulated_steps=8_000, dropped_steps=100)
    begun = service.client.post(PATH, json=long, params={"wait": 0})
    assert begun.status_code == 202
    place = begun.headers["location"]
    until(lambda: service.client.get(place).json()["state"] == "running")
    assert service.post(two_layers()).status_code == 201
    assert service.client.get(place).json()["state"] == "running"
    unready = service.client.get(f"{place}/table.csv")
    assert unready.status_code == 409
    assert unready.json()["detail"] == "This prediction has no result: it is running."
    cancelled = service.client.post(f"{place}/cancel").json()
    assert (cancelled["state"], cancelled["rows"]) == ("cancelled", None)


def test_rows_are_counted() -> None:
    told: list[tuple[int, int]] = []
    asked = read_parsed(by_hand(workers=[1, 2, 4], explain=False), ParameterServerRequest)
    found = service_run.run(*asked, lambda done, many: told.append((done, many)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert all(row.what_if == () and row.limited_by is None for row in found.rows)


# what is asked -----------------------------------------------------------------------------------


def test_each_option_counts() -> None:
    big = by_hand(workers=[2], batch_size=1)
    big["steps"][0]["ops"][0]["bytes"] = 200_000_000
    big["steps"][0]["ops"] += [
        {"id": "other", "resource": "downlink", "bytes": 1_000_000},
        {"id": "long", "resource": "worker", "duration_us": 200_000, "after": ["other"]},
    ]
    speeds: dict[str, float] = {}
    changes: dict[str, Json] = {
        "as it is": {},
        "a large window": {"win_bytes": 190_000_000},
        "no flow control": {"flow_control": False},
        "parsing": {"parse_us_per_byte": 0.001, "parse_us": 100},
        "synchronous": {"synchronous": True},
        "spread": {"spread": 0.5},
        "seed": {"seed": 7},
        "steps": {"simulated_steps": 40, "dropped_steps": 0},
    }
    for name, fields in changes.items():
        (row,) = ran(big | fields).rows
        speeds[name] = row.examples_per_s
    assert len(set(speeds.values())) == len(speeds)
    assert speeds["parsing"] < speeds["as it is"]


@pytest.mark.parametrize("order", ORDERS)
def test_orders(order: str) -> None:
    body = by_hand(workers=[1], spread=0, order=order)
    second = {"id": "pull2", "resource": "downlink", "bytes": 125_000}
    body["steps"][0]["ops"][0:0] = [second]
    body["steps"][0]["ops"].append(
        {"id": "more", "resource": "worker", "duration_us": 50, "after": ["work", "pull2"]}
    )
    found = ran(body)
    assert found.request.order == order
    # 100 us of pull2 and 10 of pull; after both 50 us more, and 25 us behind pull
    early, late = pytest.approx(160), pytest.approx(185)
    expected = {"fifo": late, "tic": early, "reverse": late, "random": found.rows[0].step_us}
    assert found.rows[0].step_us == expected[order]


def test_a_graph_is_a_step(service: Service) -> None:
    body: Json = {
        "graph": two_layers()["graph"],
        "batch_size": 32,
        "bandwidths_gbps": [10],
        "workers": [1, 4],
        "simulated_steps": 40,
        "dropped_steps": 4,
    }
    found = service.post(body, PATH).json()
    assert found["name"] == "two layers"
    assert (found["request"]["servers"], found["request"]["update_us_per_byte"]) == (1, 0)
    assert len(found["request"]["graph_sha256"]) == 64
    names = [use["resource"] for use in found["rows"][0]["utilisation"]]
    assert names == ["worker", "server", "uplink", "downlink"]
    assert found["rows"][0]["step_us"] >= 2_550
    stored = service.client.post("/v1/graphs", content=json.dumps(body["graph"]).encode()).json()
    by_id = {key: value for key, value in body.items() if key != "graph"}
    again = service.post(by_id | {"graph_id": stored["id"]}, PATH).json()
    assert again["rows"] == found["rows"]
    timeline = service.client.get(f"{PATH}/{again['id']}/timeline.json").json()
    assert "g1:pull" in {event["name"] for event in timeline["traceEvents"]}
    two = service.post(body | {"servers": 2, "update_us_per_byte": 0.001}, PATH).json()
    names = [use["resource"] for use in two["rows"][0]["utilisation"]]
    assert names[1:3] == ["server:ps1", "server:ps2"]
    assert two["request"]["servers"] == 2


def test_durations_in_doubt_are_asked_about() -> None:
    ops = [
        {"id": "b", "kind": "compute", "duration_us": 1e-3},
        {"id": "g", "kind": "all_reduce", "bytes": 100_000_000, "after": ["b"]},
        {"id": "f", "kind": "compute", "duration_us": 1e-3, "after": ["g"]},
    ]
    body = by_hand(workers=[1], graph={"ops": ops})
    del body["steps"]
    assert [warning.code for warning in ran(body).warnings] == ["units_in_doubt"]


# refusals ----------------------------------------------------------------------------------------

OP: Json = {"id": "x", "resource": "worker", "duration_us": 1}


def step(*ops: Any) -> Json:
    return {"ops": list(ops)}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        # steps or a graph, one of them
        ({"steps": None}, {("/steps", "missing_field")}),
        ({"graph": two_layers()["graph"]}, {("/graph", "extra_field")}),
        ({"graph_id": "nothing"}, {("/graph_id", "unknown_graph"), ("/graph", "extra_field")}),
        ({"steps": []}, {("/steps", "out_of_range")}),
        # what is said of graphs
        (
            {"servers": 2, "update_us_per_byte": 0},
            {("/servers", "extra_field"), ("/update_us_per_byte", "extra_field")},
        ),
        # all faults of several steps at once
        (
            {
                "steps": [
                    step(OP, {**OP, "bytes": 5}),
                    step({"id": "y", "resource": "disk", "duration_us": 1}),
                    step({"id": "z", "resource": "uplink"}),
                    step(),
                ]
            },
            {
                ("/steps/0/ops/1/id", "duplicate_id"),
                ("/steps/0/ops/1/bytes", "extra_field"),
                ("/steps/1/ops/0/resource", "out_of_range"),
                ("/steps/2/ops/0/bytes", "missing_field"),
                ("/steps/3/ops", "missing_field"),
            },
        ),
        # steps that do not fit the schema, beside one that is wrong inside
        (
            {
                "steps": [
                    step({**OP, "duration_us": "1"}, {**OP, "after": [5]}),
                    step({**OP, "after": ["nobody"]}),
                    7,
                    {"op": []},
                    step(OP, 7),
                ]
            },
            {
                ("/steps/0/ops/0/duration_us", "wrong_type"),
                ("/steps/0/ops/1/after/0", "wrong_type"),
                ("/steps/1/ops/0/after/0", "unknown_op"),
                ("/steps/2", "wrong_type"),
                ("/steps/3/ops", "missing_field"),
                ("/steps/3/op", "extra_field"),
                ("/steps/4/ops/1", "wrong_type"),
            },
        ),
        # a server that is named in some steps only
        (
            {
                "steps": [
                    step({"id": "u", "resource": s, "bytes": 5}) for s in ("uplink", "uplink:a")
                ]
            },
            {("/steps", "missing_field")},
        ),
        # a step that takes no time
        ({"steps": [step({**OP, "duration_us": 0})]}, {("/steps/0/ops", "out_of_range")}),
        # parsing that lasts too long
        (
            {
                "steps": [step({"id": "u", "resource": "uplink", "bytes": 2**60})],
                "parse_us_per_byte": 1,
            },
            {("/steps/0/ops/0/bytes", "out_of_range")},
        ),
        # options
        ({"batch_size": 0}, {("/batch_size", "out_of_range")}),
        ({"workers": []}, {("/workers", "out_of_range")}),
        ({"workers": [1, 2, 1]}, {("/workers/2", "out_of_range")}),
        ({"workers": [1_001]}, {("/workers/0", "out_of_range")}),
        (
            {"bandwidths_gbps": [10, 0, 10]},
            {("/bandwidths_gbps/1", "out_of_range")},
        ),
        ({"bandwidths_gbps": [10, 10]}, {("/bandwidths_gbps/1", "out_of_range")}),
        (
            {"flow_control": False, "win_bytes": 28_000_000, "dropped_steps": 31},
            {("/win_bytes", "extra_field"), ("/dropped_steps", "out_of_range")},
        ),
        ({"order": "best"}, {("/order", "out_of_range")}),
        ({"spread": -1}, {("/spread", "out_of_range")}),
        ({"cluster": {"workers": 8}}, {("/cluster", "extra_field")}),
        # too much work
        (
            {"workers": [500, 1_000], "simulated_steps": 100_000},
            {("/simulated_steps", "out_of_range")},
        ),
    ],
)
def test_refused(service: Service, fields: Json, found: set[tuple[str, str]]) -> None:
    body = {key: value for key, value in by_hand(**fields).items() if value is not None}
    answer = service.post(body, PATH)
    assert answer.status_code == 422, answer.text
    assert faults(answer) == found


def test_a_large_body_is_checked_by_its_job(service: Service) -> None:
    ops = [{**OP, "id": f"{i:0500}"} for i in range(2_500)]
    large = by_hand(steps=[step(*ops)], workers=[1], simulated_steps=20, dropped_steps=2)
    large |= {"name": "large", "explain": False}
    begun = service.client.post(PATH, json=large, params={"wait": 0})
    assert begun.status_code == 202
    assert service.post(large, PATH).json()["rows"][0]["step_us"] == pytest.approx(2_500, rel=0.1)
    wrong = by_hand(steps=[step(*ops, OP, OP)])
    assert faults(service.post(wrong, PATH)) == {("/steps/0/ops/2501/id", "duplicate_id")}


def test_what_is_missing(service: Service) -> None:
    assert faults(service.post({}, PATH)) == {("/batch_size", "missing_field")}
    assert faults(service.post({"batch_size": 8}, PATH)) == {
        ("/steps", "missing_field"),
        ("/bandwidths_gbps", "missing_field"),
    }
    assert ("/fit", "out_of_range") in faults(service.post({"batch_size": 8, "fit": True}, PATH))


def test_too_much_work_says_what_to_lower() -> None:
    body = by_hand(workers=[500, 1_000], simulated_steps=100_000)
    (fault,) = refused(body)
    assert fault.detail == (
        "2 rows of 1,500 workers a bandwidth, 100,000 steps of 14 services each, take about "
        "5,041,176,000 services with their what-ifs; at most 100,000,000 are simulated. Lower "
        "simulated_steps or the counts of workers, ask for fewer rows, or set explain to false."
    )
    (fault,) = refused(body | {"explain": False})
    assert "2,520,168,000 services; at most" in fault.detail
    assert fault.detail.endswith("ask for fewer rows.")


def test_a_graph_that_is_no_step() -> None:
    graph = two_layers()["graph"]
    graph["ops"][1]["kind"] = "all_gather"
    body = by_hand(graph=graph)
    del body["steps"]
    assert [(f.pointer, f.code) for f in refused(body)] == [("/graph/ops/1/kind", "not_all_reduce")]
    graph = two_layers()["graph"]
    graph["ops"][1]["bytes"] = 2**58
    wrong = {**body, "graph": graph, "parse_us_per_byte": 1e3}
    assert {(f.pointer, f.code) for f in refused(wrong)} == {("/graph", "out_of_range")}


def test_too_many_ops_or_edges() -> None:
    crowd = by_hand(steps=[{"ops": [{}] * (MAX_STEP_OPS // 2 + 1)}] * 2)
    assert [(f.pointer, f.code) for f in refused(crowd)] == [("/steps", "out_of_range")]
    ops = [{**OP, "id": f"x{i}"} for i in range(1_100)]
    dense = [{**op, "after": [f"x{j}" for j in range(i)]} for i, op in enumerate(ops)]
    (fault,) = refused(by_hand(steps=[step(*dense)] * 2))
    assert fault.detail == (
        f"Steps: at most {MAX_STEP_EDGES:,} edges are taken in all, got {1_100 * 1_099:,}."
    )


@pytest.mark.parametrize(
    "steps",
    [
        [step({"id": 5, "resource": 6, "bytes": "7"})] * 900,
        [step(*[{"id": "x", "resource": "disk"}] * 900)] * 4,
        [step(*[{"id": 5}] * 2_000)],
    ],
)
def test_faults_are_not_looked_for_without_end(steps: Any) -> None:
    found = refused(by_hand(steps=steps))
    assert "too_many_faults" in {fault.code for fault in found}
    assert len(found) < 4 * MAX_FAULTS_SOUGHT


def test_an_op_with_many_fields() -> None:
    wide = {**OP, **{f"k{i}": 0 for i in range(1_000)}}
    (fault,) = refused(by_hand(steps=[step(OP, {**wide, "id": "y"})]))
    assert (fault.pointer, fault.code) == ("/steps/0/ops/1", "extra_field")


def test_sentences_name_the_op() -> None:
    wrong = step({**OP, "duration_us": -1}, {"resource": "worker"})
    told = [fault.detail for fault in refused(by_hand(steps=[wrong]))]
    assert told == [
        "Step 0: op 'x': duration_us must be 0 to 8.64e+12, got -1.",
        "Step 0: op 1: id is missing.",
    ]


def test_another_request_knows_no_steps(service: Service) -> None:
    body = two_layers() | {"steps": [step(OP)]}
    assert faults(service.post(body)) == {("/steps", "extra_field")}


# views -------------------------------------------------------------------------------------------


def test_the_table(service: Service, posted: Json) -> None:
    answer = service.client.get(f"{PATH}/{posted['id']}/table.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == len(posted["rows"])
    for told, row in zip(rows, posted["rows"], strict=True):
        for field in ("examples_per_s", "low_examples_per_s", "bound_examples_per_s", "step_us"):
            assert float(told[field]) == row[field]
        assert told["limited_by"] == (row["limited_by"] or "")
        for use in row["utilisation"]:
            assert float(told[f"utilisation_{use['resource']}"]) == use["share"]


def texts(svg: bytes) -> list[str]:
    return [e.text or "" for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_plot(service: Service, posted: Json) -> None:
    place = f"{PATH}/{posted['id']}/throughput-by-workers.svg"
    first, again = (service.client.get(place) for _ in range(2))
    assert first.headers["content-type"] == "image/svg+xml"
    assert first.content == again.content
    found = texts(first.content)
    assert "two servers: 10 Gbit/s, batches of 8" in found
    assert {"1", "2", "4", "simulated", "95 % interval", "Lin et al.", "Cynthia"} <= {*found}
    assert {"simple bound", "ceiling: the busiest link, full"} <= {*found}
    other = service.client.get(f"{place}?bandwidth_gbps=1")
    assert "two servers: 1 Gbit/s, batches of 8" in texts(other.content)
    wrong = service.client.get(f"{place}?bandwidth_gbps=7")
    assert faults(wrong) == {("/query/bandwidth_gbps", "out_of_range")}
    assert "the prediction has 1, 10; got 7" in wrong.json()["detail"]


def test_a_plot_without_transfers_and_with_a_knee() -> None:
    idle = ran(by_hand(steps=[step(OP)], workers=[1, 2]))
    assert "ceiling: the busiest link, full" not in texts(views.by_workers(idle, None))
    # in step, so many workers take 20 us each on the links and 30 us besides
    found = ran(by_hand(workers=[1, 100, 200, 400], spread=0, synchronous=True))
    assert found.knees[0].workers == 200
    assert "from here on, 1 % more for sure at most" in texts(views.by_workers(found, None))


def test_the_timeline(service: Service, posted: Json) -> None:
    place = f"{PATH}/{posted['id']}/timeline.json"
    told = service.client.get(f"{place}?workers=2&bandwidth_gbps=1&from_step=5&steps=2").json()
    done = [event for event in told["traceEvents"] if event["ph"] == "X"]
    assert {event["pid"] for event in done} == {0, 1}
    assert {event["args"]["step"] for event in done} == {5, 6}
    assert len(done) == 2 * 2 * 6
    # the same steps, seen on the way to later ones
    more = service.client.get(f"{place}?workers=2&bandwidth_gbps=1&from_step=4&steps=10").json()
    later = [event for event in more["traceEvents"] if event["ph"] == "X"]
    assert [event for event in later if event["args"]["step"] in {5, 6}] == done
    default = service.client.get(place).json()
    steps = {e["args"]["step"] for e in default["traceEvents"] if e["ph"] == "X"}
    assert steps == {0, 1, 2}


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("workers=3", "/query/workers"),
        ("bandwidth_gbps=2", "/query/bandwidth_gbps"),
        ("from_step=78", "/query/from_step"),
        ("steps=21", "/query/steps"),
        ("steps=0", "/query/steps"),
        ("from_step=-1", "/query/from_step"),
    ],
)
def test_a_timeline_that_is_not_there(
    service: Service, posted: Json, query: str, pointer: str
) -> None:
    answer = service.client.get(f"{PATH}/{posted['id']}/timeline.json?{query}")
    assert faults(answer) == {(pointer, "out_of_range")}


def test_timelines_are_limited() -> None:
    asked = read_parsed(
        by_hand(workers=[1_000], simulated_steps=2_000, explain=False), ParameterServerRequest
    )

    def timeline(from_step: int, steps: int) -> views.Shown:
        return views.simulated_again(
            *asked, workers=None, bandwidth_gbps=None, from_step=from_step, steps=steps
        )

    with pytest.raises(InvalidRequest, match="20 steps of 1,000 workers take about 80,000"):
        timeline(0, 20)
    with pytest.raises(InvalidRequest, match="at most 2,000,000 are simulated for a timeline"):
        timeline(1_000, 1)


def test_the_example_of_the_page(service: Service) -> None:
    found = service.post(EXAMPLE, PATH).json()
    assert [row["workers"] for row in found["rows"]] == [1, 2, 4, 8]
    json.dumps(found, allow_nan=False)
