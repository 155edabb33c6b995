"""POST /v1/sweeps: cells, knees, tables, plots."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from app.errors import TimeLimit
from app.limits import MAX_CELLS
from app.reading.requests import problem_of, read_parsed
from app.schemas.sweeps import SweepAnswer, SweepRequest
from app.services.sweeps import parallel as pool
from app.services.sweeps import run as sweeps
from app.services.sweeps import views as sweep_views
from app.services.sweeps.run import run
from solver.costs import Cluster, network_of
from solver.models import MODELS
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies.choice import Choice
from tests.app.long import sweep
from tests.app.service import Json, Service, faults, two_layers
from tests.waiting import until

PATH = "/v1/sweeps"


def two(**fields: Any) -> Json:
    body = two_layers()
    del body["options"]
    return body | fields


#: 1 x 2 x 2 cells and more, out of order.
SWEPT: Json = {
    "workers": [8, 2, 1],
    "bandwidths_gbps": [100, 10],
    "startups_us": [500, 50],
    "policies": ["wfbp", {"policy": "horovod", "cycle_time_us": 5000}, "horovod", "pace", "plan"],
}
LABELS = ["wfbp", "horovod:cycle_time_us=5000", "horovod", "pace", "plan"]


def ran(**fields: Any) -> SweepAnswer:
    return run(problem_of(read_parsed(two(**fields), SweepRequest)))


@pytest.fixture(scope="module")
def posted(service: Service) -> Json:
    answer = service.post(two(**SWEPT), PATH)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    assert answer.headers["location"] == f"{PATH}/{found['id']}"
    return found


def test_cells_ascend_and_say_what_simulations_and_plans_say(service: Service, posted) -> None:
    cells = posted["cells"]
    clusters = [(c["workers"], c["bandwidth_gbps"], c["startup_us"]) for c in cells]
    assert clusters == [(w, b, s) for w in (1, 2, 8) for b in (10, 100) for s in (50, 500)]
    assert posted["axes"] == {
        "workers": [1, 2, 8],
        "bandwidths_gbps": [10, 100],
        "startups_us": [50, 500],
    }
    assert [policy["label"] for policy in posted["policies"]] == LABELS
    assert posted["policies"][1]["parameters"] == {"cycle_time_us": 5000}
    assert posted["request"]["time_limit_s"] == 10
    assert posted["warnings"] == []
    cell = cells[9]
    assert list(cell["iteration_time_us"]) == LABELS
    cluster = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 500}
    for label, policy in zip(LABELS[:-1], SWEPT["policies"], strict=False):
        body = two(policy=policy) | {"cluster": cluster}
        simulated = service.post(body, "/v1/simulations").json()
        assert cell["iteration_time_us"][label] == simulated["iteration_time_us"]
    planned = service.post(two_layers() | {"cluster": cluster}).json()
    assert cell["iteration_time_us"]["plan"] == pytest.approx(planned["iteration_time_us"])
    assert cell["lower_bound_us"] == pytest.approx(planned["lower_bound_us"])


def test_the_best_its_speed_and_the_bound(posted: Json) -> None:
    for cell in posted["cells"]:
        times = cell["iteration_time_us"]
        best = min(times.values())
        assert times[cell["best"]] <= best * (1 + 1e-3)
        assert cell["fastest"] == [name for name in times if times[name] <= best * (1 + 1e-3)]
        assert cell["scaling_factor"] == pytest.approx(cell["compute_time_us"] / best)
        assert cell["speed"] == pytest.approx(cell["workers"] * cell["scaling_factor"])
        assert cell["speed"] <= cell["speed_bound"] * (1 + 1e-7)
        assert not cell["extrapolated"]
        if cell["workers"] == 1:
            assert set(times.values()) == {2550}
            assert cell["speed"] == cell["speed_bound"] == 1
            assert cell["best"] == "wfbp"  # the first of equals


def test_what_the_sweep_says(posted: Json) -> None:
    count, saved, behind, fast, *told = posted["summary"]
    assert saved.startswith("Over what you run the fastest of a cell saves 0.0 to ")
    assert " % over DDP, 0.0 to " in saved
    assert count.startswith("Fastest of 12 cells, equal ones within 0.1 % together: ")
    assert behind.startswith("Longest time over that of the fastest in the same cell: wfbp 1.")
    assert behind.endswith(" plan 1.00.")
    assert fast.startswith("With 8 workers at 100 Gbit/s and a start-up of 500 us, ")
    none = f"none of {', '.join(LABELS)}, up to the largest"
    assert told == [
        "Knees of bandwidth, beyond which nothing of the sweep gains more than 1 %, with 8 workers "
        f"and a start-up of 500 us: {none}.",
        "Knees of workers, beyond which nothing of the sweep gains more than 1 %, at 100 Gbit/s "
        f"and with a start-up of 500 us: {none}.",
    ]
    assert len(posted["knees"]) == len(LABELS) * (3 * 2 + 2 * 2)
    alone = [k for k in posted["knees"] if k["workers"] == 1]
    assert {knee["value"] for knee in alone} == {10}


def test_found_again_and_listed(service: Service, posted: Json) -> None:
    assert service.client.get(f"{PATH}/{posted['id']}").json() == posted
    (newest,) = service.client.get(f"{PATH}?limit=1").json()["sweeps"]
    assert newest["name"] == "two layers"
    assert newest["cells"] >= 1
    for end in ("", "/table.csv", "/speed-by-workers.svg", "/speed-by-bandwidth.svg"):
        assert service.client.get(f"{PATH}/nothing{end}").status_code == 404


def test_the_table(service: Service, posted: Json) -> None:
    answer = service.client.get(f"{PATH}/{posted['id']}/table.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 12 * len(LABELS)
    assert [row["policy"] for row in rows[: len(LABELS)]] == LABELS
    for row, label in zip(rows, LABELS * 12, strict=True):
        cell = next(
            c
            for c in posted["cells"]
            if all(str(c[f]) == row[f] for f in ("workers", "bandwidth_gbps", "startup_us"))
        )
        assert float(row["iteration_time_us"]) == cell["iteration_time_us"][label]
        assert float(row["lower_bound_us"]) == cell["lower_bound_us"]
        assert row["best"] == str(int(label in cell["fastest"]))
        assert cell["best"] == cell["fastest"][0]
        today = cell["gains"][0]
        assert row["over"] == today["over"] == "ddp"
        saved = 1 - float(row["iteration_time_us"]) / today["today_us"]
        assert float(row["gain"]) == pytest.approx(saved)
        assert row["extrapolated"] == "0"
        assert float(row["speed"]) == pytest.approx(
            cell["workers"] * 2550 / cell["iteration_time_us"][label]
        )


def texts(svg: bytes) -> list[str]:
    return [e.text or "" for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_plots(service: Service, posted: Json) -> None:
    by_workers = f"{PATH}/{posted['id']}/speed-by-workers.svg"
    first, again = (service.client.get(by_workers) for _ in range(2))
    assert first.headers["content-type"] == "image/svg+xml"
    assert first.content == again.content
    found = texts(first.content)
    assert "two layers: 100 Gbit/s, start-up 500 us" in found
    assert {"1", "2", "8", "wfbp", "plan", "ideal", "cycle_time_us=5000"} <= set(found)
    other = service.client.get(f"{by_workers}?bandwidth_gbps=10&startup_us=50")
    assert "two layers: 10 Gbit/s, start-up 50 us" in texts(other.content)
    by_bandwidth = f"{PATH}/{posted['id']}/speed-by-bandwidth.svg"
    found = texts(service.client.get(f"{by_bandwidth}?workers=1").content)
    assert "two layers: 1 workers, start-up 500 us" not in found
    assert "two layers: 1 worker, start-up 500 us" in found
    assert "from here on, 1 % or less" in found
    assert "from here on, 1 % or less" not in texts(service.client.get(by_bandwidth).content)


@pytest.mark.parametrize(
    ("query", "field", "told"),
    [
        ("speed-by-workers.svg?bandwidth_gbps=7", "bandwidth_gbps", "the sweep has 10, 100; got 7"),
        ("speed-by-workers.svg?startup_us=0", "startup_us", "the sweep has 50, 500; got 0"),
        ("speed-by-bandwidth.svg?workers=3", "workers", "the sweep has 1, 2, 8; got 3"),
    ],
)
def test_a_slice_that_is_not_there(service: Service, posted, query, field, told) -> None:
    answer = service.client.get(f"{PATH}/{posted['id']}/{query}")
    assert faults(answer) == {(f"/query/{field}", "out_of_range")}
    assert told in answer.json()["detail"]


def test_a_measured_table_has_no_bandwidth(service: Service) -> None:
    table = {"algorithm": "table", "table": [[1_000, 100.0], [10_000_000, 9_000.0]], "workers": 8}
    body = two(workers=[4, 8], policies=["wfbp"]) | {"cluster": table}
    found = service.post(body, PATH).json()
    assert found["axes"]["bandwidths_gbps"] == [None]
    assert [(w["pointer"], w["code"]) for w in found["warnings"]] == [
        ("/workers", "workers_unknown")
    ]
    drawn = service.client.get(f"{PATH}/{found['id']}/speed-by-workers.svg").content
    assert "two layers: start-up 0 us" in texts(drawn)
    refused = service.client.get(f"{PATH}/{found['id']}/speed-by-bandwidth.svg")
    assert refused.status_code == 404
    query = f"{PATH}/{found['id']}/speed-by-workers.svg?bandwidth_gbps=1"
    assert "the sweep has none" in service.client.get(query).json()["detail"]
    swept = service.post(body | {"bandwidths_gbps": [1, 10]}, PATH)
    assert faults(swept) == {("/bandwidths_gbps", "extra_field")}
    rows = list(csv.DictReader(io.StringIO(sweep_views.table(SweepAnswer(**found)))))
    assert {row["bandwidth_gbps"] for row in rows} == {""}


def test_a_cost_model_is_scaled_where_that_is_asked_for() -> None:
    model = {
        "algorithm": "table",
        "workers": 8,
        "startup_us": 10,
        "table": [[1_000_000, 100.0], [10_000_000, 9_000.0]],
    }
    cluster = {"workers": 8, "startup_us": 5, "cost_model": model, "extrapolate": True}
    found = ran(workers=[4, 8], policies=["wfbp"], cluster=cluster)
    assert [cell.extrapolated for cell in found.cells] == [True, False]
    assert [cell.startup_us for cell in found.cells] == [5, 5]  # what was asked, not the sum
    assert [warning.code for warning in found.warnings] == ["extrapolated"]


TABLE: Json = {"algorithm": "table", "table": [[1_000, 100.0], [10_000_000, 9_000.0]]}
#: Measured on 8 workers at 25 Gbit/s.
MEASURED: Json = {"workers": 8, "cost_model": {**TABLE, "workers": 8, "bandwidth_gbps": 25}}


def on_channels(*channels: Json, **fields: Any) -> Json:
    """Both tensors on channels of their own, or on one."""
    body = two(policies=["wfbp"], **fields)
    body["cluster"]["channels"] = {f"c{i}": channel for i, channel in enumerate(channels)}
    for i, op in enumerate([op for op in body["graph"]["ops"] if "bytes" in op]):
        op["channel"] = f"c{i % len(channels)}"
    return body


def test_a_scaled_channel_is_marked(service: Service) -> None:
    scaled = {"cost_model": {**TABLE, "workers": 4}, "extrapolate": True}
    body = on_channels({"bandwidth_gbps": 100}, scaled, workers=[1, 4, 8])
    found = service.post(body, PATH).json()
    assert [cell["extrapolated"] for cell in found["cells"]] == [False, False, True]
    assert [(w["pointer"], w["code"]) for w in found["warnings"]] == [
        ("/cluster/channels/c1/cost_model", "extrapolated")
    ]


def test_scaled_bandwidths_are_told_beside_one_worker() -> None:
    found = ran(
        workers=[1, 8],
        bandwidths_gbps=[25, 50],
        policies=["wfbp"],
        cluster=MEASURED | {"extrapolate": True},
    )
    assert [cell.extrapolated for cell in found.cells] == [False, False, False, True]
    assert [warning.code for warning in found.warnings] == ["extrapolated"]


def test_a_table_on_a_channel_does_not_know_the_workers(service: Service) -> None:
    body = on_channels(TABLE, {"bandwidth_gbps": 10, "workers": 2}, workers=[2, 4, 8])
    found = service.post(body, PATH).json()
    assert [(w["pointer"], w["code"]) for w in found["warnings"]] == [
        ("/workers", "workers_unknown")
    ]
    assert "'c0'" in found["warnings"][0]["detail"]
    known = on_channels(TABLE | {"workers": 2}, {"bandwidth_gbps": 10}, workers=[2, 4, 8])
    assert service.post(known, PATH).json()["warnings"] == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # found with the most workers, where the fewest send nothing
        (
            two(cluster=MEASURED, workers=[1, 8], bandwidths_gbps=[25, 50]),
            {("/bandwidths_gbps/1", "not_measured")},
        ),
        # each value once, whatever it was tried with
        (
            two(cluster=MEASURED, workers=[16, 1, 8, 4], bandwidths_gbps=[100, 25, 50]),
            {
                ("/workers/0", "not_measured"),
                ("/workers/3", "not_measured"),
                ("/bandwidths_gbps/0", "not_measured"),
                ("/bandwidths_gbps/2", "not_measured"),
            },
        ),
        # of a channel that follows the workers
        (
            on_channels(
                {"cost_model": {**TABLE, "workers": 8}},
                TABLE,
                workers=[1, 8, 4],
                startups_us=[1, 2],
            ),
            {("/workers/2", "not_measured")},
        ),
        # no collective follows the workers
        (
            on_channels(
                {"bandwidth_gbps": 1, "workers": 4}, TABLE | {"workers": 2}, workers=[2, 8]
            ),
            {("/workers", "extra_field")},
        ),
        (on_channels(TABLE | {"workers": 2}, workers=[4]), {("/workers", "extra_field")}),
        # nor the network's bandwidth and start-up
        (
            on_channels({"bandwidth_gbps": 1}, startups_us=[5], bandwidths_gbps=[5, 10]),
            {("/startups_us", "extra_field"), ("/bandwidths_gbps", "extra_field")},
        ),
        (
            two(cluster=TABLE | {"workers": 8}, bandwidths_gbps=[10]),
            {("/bandwidths_gbps", "extra_field")},
        ),
    ],
)
def test_what_does_not_count_or_was_not_measured(
    service: Service, body: Json, found: set[tuple[str, str]]
) -> None:
    assert faults(service.post(body, PATH)) == found


def test_one_value_that_counts_is_taken() -> None:
    for cluster in (MEASURED, {"workers": 8}):
        found = ran(cluster=cluster, policies=["wfbp"], bandwidths_gbps=[25], startups_us=[0])
        assert found.axes.bandwidths_gbps == [25]
    alone = ran(cluster=TABLE | {"workers": 1}, policies=["wfbp"], bandwidths_gbps=[10])
    assert alone.cells[0].speed == 1


def test_a_sweep_has_a_time_limit(service: Service) -> None:
    told: list[tuple[int, int]] = []
    body = two(**SWEPT, sweep_limit_s=1e-9)
    with pytest.raises(
        TimeLimit, match=r"^Sweep: 0 of 12 cells were done when the limit of 1e-09 s"
    ):
        run(problem_of(read_parsed(body, SweepRequest)), lambda *done: told.append(done))
    assert told == [(0, 12)]
    answer = service.post(body, PATH)
    assert (answer.status_code, answer.json()["code"]) == (503, "time_limit")
    assert "sweep_limit_s" in answer.json()["detail"]
    for limit in (0, 3_601):
        refused = service.post(body | {"sweep_limit_s": limit}, PATH)
        assert faults(refused) == {("/sweep_limit_s", "out_of_range")}


def test_pace_has_no_time_where_it_is_not_defined(service: Service) -> None:
    asked = service.client.get("/v1/examples/tp_gpt_8b").json()
    body = {key: asked[key] for key in ("graph", "cluster")} | {"policies": ["pace", "wfbp"]}
    found = service.post(body, PATH).json()
    (cell,) = found["cells"]
    assert cell["iteration_time_us"]["pace"] is None
    assert cell["best"] == "wfbp"
    text = service.client.get(f"{PATH}/{found['id']}/table.csv").text.splitlines()
    assert text[1].split(",")[3:7] == ["pace", "", "", ""]
    for plot in ("speed-by-workers", "speed-by-bandwidth"):
        assert service.client.get(f"{PATH}/{found['id']}/{plot}.svg").status_code == 200
    alone = service.post(body | {"policies": ["pace"]}, PATH).json()
    assert alone["cells"][0]["best"] is alone["cells"][0]["speed"] is None
    assert alone["summary"][0] == "None of the policies is defined for this graph."


def test_a_barrier_for_all_or_for_one() -> None:
    for_all = ran(policies=["wfbp", "plan"], barrier=True)
    for_one = ran(policies=[{"policy": "wfbp", "barrier": True}, "plan"])
    assert for_one.policies[0].label == "wfbp:barrier"
    assert (
        for_all.cells[0].iteration_time_us["wfbp"]
        == (for_one.cells[0].iteration_time_us["wfbp:barrier"])
    )
    assert for_all.cells[0].iteration_time_us["plan"] > for_one.cells[0].iteration_time_us["plan"]
    both = ran(policies=[{"policy": "wfbp", "barrier": True}], barrier=True)
    assert (
        both.cells[0].iteration_time_us["wfbp:barrier"]
        == (for_all.cells[0].iteration_time_us["wfbp"])
    )


def test_channels_follow_the_workers() -> None:
    body = two(policies=["wfbp"], workers=[2, 8])
    for op in body["graph"]["ops"]:
        if op["id"] == "g2":
            op["channel"] = "other"
    body["cluster"]["channels"] = {"other": {"bandwidth_gbps": 1}}
    found = run(problem_of(read_parsed(body, SweepRequest)))
    times = [cell.iteration_time_us["wfbp"] for cell in found.cells]
    assert times == pytest.approx([800 + 32_000 + 450, 800 + 56_000 + 450])


@pytest.mark.live
def test_the_same_sweep_is_the_same_bytes_on_all_cores_or_one(monkeypatch) -> None:
    here = ran(**SWEPT)
    monkeypatch.setattr(pool, "cores", lambda: 2)
    monkeypatch.setattr(sweeps, "SHORT_S", 0)
    told: list[tuple[int, int]] = []
    problem = problem_of(read_parsed(two(**SWEPT), SweepRequest))
    there = run(problem, lambda *done: told.append(done))
    assert list(dict.fromkeys(told)) == [(done, 12) for done in range(13)]
    same = {"runtime_s": 0.0}
    assert here.model_copy(update=same).model_dump_json() == (
        there.model_copy(update=same).model_dump_json()
    )


@pytest.mark.parametrize("name", ["vgg16", "resnet50"])
def test_the_plan_of_a_cell_is_that_of_a_plan(name: str) -> None:
    graph = MODELS[name]()
    body = two(bandwidths_gbps=[4], startups_us=[100], policies=["wfbp", "pace", "plan"])
    found = run(replace(problem_of(read_parsed(body, SweepRequest)), graph=graph))
    network = network_of(Cluster(8, 4, 100))
    options = Options(baselines=(Choice("wfbp"), Choice("pace")), time_limit_s=2)
    assert found.cells[0].iteration_time_us["plan"] == (
        plan(graph, network, options).iteration_time_us
    )


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        # values out of range, of the wrong type, repeated
        ({"workers": [0]}, {("/workers/0", "out_of_range")}),
        ({"bandwidths_gbps": ["1"]}, {("/bandwidths_gbps/0", "wrong_type")}),
        ({"startups_us": [5, -1]}, {("/startups_us/1", "out_of_range")}),
        ({"workers": [2, 4, 2, 4]}, {("/workers/2", "out_of_range")}),
        # too many cells
        (
            {"workers": list(range(1, 66)), "bandwidths_gbps": list(range(1, 65))},
            {("", "out_of_range")},
        ),
        ({"workers": list(range(1, MAX_CELLS + 2))}, {("/workers", "out_of_range")}),
        # no policy, no such policy, no such parameter, the same policy again
        ({"policies": []}, {("/policies", "out_of_range")}),
        ({"policies": ["plan", "best"]}, {("/policies/1", "out_of_range")}),
        ({"policies": [5]}, {("/policies/0", "wrong_type")}),
        ({"policies": [{"policy": "plan", "seed": 1}]}, {("/policies/0/seed", "extra_field")}),
        (
            {"policies": [{"policy": "ddp", "bucket_cap_mb": 0}]},
            {("/policies/0/bucket_cap_mb", "out_of_range")},
        ),
        (
            {"policies": ["wfbp", {"policy": "wfbp"}, "plan", "plan"]},
            {("/policies/1", "duplicate_id"), ("/policies/3", "duplicate_id")},
        ),
        # the plan has the barrier of all
        (
            {"policies": [{"policy": "plan", "barrier": True}]},
            {("/policies/0/barrier", "extra_field")},
        ),
        # too many launches: in one run, over all cells
        (
            {"policies": [{"policy": "p3", "slice_bytes": 1}]},
            {("/policies/0/slice_bytes", "out_of_range")},
        ),
        (
            {
                "policies": [{"policy": "p3", "slice_bytes": 10}],
                "workers": list(range(1, 101)),
            },
            {("/policies", "out_of_range")},
        ),
        # too long for plans
        (
            {"policies": ["plan"], "workers": list(range(1, 1001)), "time_limit_s": 60},
            {("/time_limit_s", "out_of_range")},
        ),
        ({"time_limit_s": 0}, {("/time_limit_s", "out_of_range")}),
        # a cluster that cannot be, each value named
        (
            {
                "cluster": {
                    "workers": 8,
                    "bandwidth_gbps": 10,
                    "algorithm": "hierarchical",
                    "node_workers": 4,
                    "node_bandwidth_gbps": 100,
                },
                "workers": [8, 12, 13, 14],
            },
            {("/workers/2", "out_of_range"), ("/workers/3", "out_of_range")},
        ),
        # a field of plans
        ({"options": {"slot_us": 1}}, {("/options/slot_us", "extra_field")}),
    ],
)
def test_refused(service: Service, fields: Json, found: set[tuple[str, str]]) -> None:
    answer = service.post(two(**fields), PATH)
    assert answer.status_code == 422, answer.text
    assert faults(answer) == found


def test_a_name_that_the_font_does_not_have() -> None:
    body = two(policies=["wfbp"], workers=[1, 2, 4, 64])
    body["graph"]["name"] = "$x_$ 模型 \u0085" + "y" * 100
    found = run(problem_of(read_parsed(body, SweepRequest)))
    (title,) = [text for text in texts(sweep_views.by_workers(found, None, None)) if "$x_" in text]
    assert title.startswith("$x_$ ?? ?yy")
    assert len(title) == 80


def test_the_json_has_no_infinity(posted: Json) -> None:
    json.dumps(posted, allow_nan=False)


def test_the_service_uses_its_cores(service: Service) -> None:
    asked = service.client.get("/v1/examples/resnet50").json()
    body = {key: asked[key] for key in ("graph", "cluster")}
    axes = {"workers": [2, 8, 64], "bandwidths_gbps": [1, 5, 25, 100]}
    found = service.post(body | axes | {"policies": ["pace"]}, PATH).json()
    assert len(found["cells"]) == 12
    one = {"cluster": asked["cluster"] | {"workers": 64, "bandwidth_gbps": 100}, "policy": "pace"}
    simulated = service.post(body | one, "/v1/simulations").json()
    times = found["cells"][-1]["iteration_time_us"]
    assert times["pace"] == simulated["iteration_time_us"]


def test_what_is_swept_may_be_left_out_of_the_cluster(service: Service) -> None:
    body = {"graph": two_layers()["graph"], "cluster": {"workers": 8}, "policies": ["wfbp"]}
    found = service.post(body | {"bandwidths_gbps": [10, 25], "workers": [2, 8]}, PATH)
    assert found.status_code == 201
    assert [cell["bandwidth_gbps"] for cell in found.json()["cells"]] == [10, 25, 10, 25]
    assert faults(service.post(body, PATH)) == {("/cluster/bandwidth_gbps", "missing_field")}


def test_a_cancelled_sweep_keeps_the_cells_that_are_done(service: Service) -> None:
    asked = sweep(service)
    place = service.client.post("/v1/sweeps", json=asked, params={"wait": 0}).headers["location"]
    until(lambda: (service.client.get(place).json()["progress"] or {}).get("completed"))
    found = service.client.post(f"{place}/cancel").json()
    assert found["state"] == "cancelled"
    told, count = found["progress"]["completed"], len(found["cells"])
    assert told <= count < found["cells_asked"] == MAX_CELLS
    assert found["summary"][0].startswith(f"Cut short: {count:,} of {MAX_CELLS:,} cells")
    assert found["knees"] == []
    at = [(cell["workers"], cell["bandwidth_gbps"]) for cell in found["cells"]]
    assert at == sorted(set(at))
    rows = service.client.get(f"{place}/table.csv").text.splitlines()
    assert len(rows) == 1 + count * len(asked["policies"])
