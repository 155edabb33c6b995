"""POST /v1/estimates, and calibrate with iteration times."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.reading.requests import checked_plain
from app.routers.estimates import EXAMPLE
from app.schemas.estimates import EstimateAnswer, EstimateRequest
from app.schemas.graphs import GraphBody
from app.services.estimates import run as estimate
from solver.costs import Affine, alike
from solver.graph import build, with_barrier
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from tests.app.command import Run
from tests.app.service import Json, Service, faults, two_layers

GRAPH = two_layers()["graph"]
TRUTH = {"startup_us": 300.0, "hop_us": 20.0, "bandwidth_gbps": 4.0}


def true_time(workers: int, policy: str, scale: float = 1.0) -> float:
    """Time of the two layers by MODEL.md section 2, all waiting for all sums."""
    body = copy.deepcopy(GRAPH)
    for op in body["ops"]:
        if "duration_us" in op:
            op["duration_us"] = float(op["duration_us"]) * scale
    graph = build("two", GraphBody.model_validate(body).ops_of())
    n = workers
    cost = Affine(300 + 2 * (n - 1) * 20, 2 * (n - 1) / n / 4 / 125) if n > 1 else Affine(0, 0)
    return simulate(with_barrier(graph), alike(cost), POLICIES[policy]).iteration_time


def rows(*, times: bool = True) -> list[Json]:
    return [
        {"graph": "two", "workers": n, "policy": policy}
        | ({"time_us": true_time(n, policy)} if times else {})
        for n in (1, 2, 4, 16)
        for policy in ("wfbp", "single")
    ]


def body(**fields: Any) -> Json:
    found = {"rows": rows(), "graphs": {"two": GRAPH}, **fields}
    return {key: value for key, value in found.items() if value is not None}


def ask(raw: Json) -> EstimateAnswer:
    return estimate(checked_plain(raw, EstimateRequest), {})


def refused(raw: Json) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequest) as error:
        ask(raw)
    return [(fault.pointer, fault.code) for fault in error.value.faults]


def test_the_truth_is_found_and_the_model_plans() -> None:
    more = [*rows(), {"graph": "two", "workers": 64, "policy": "wfbp"}]
    answer = ask(body(rows=more))
    values = {each.name: each.value for each in answer.parameters}
    assert values.pop("compute_scale") == pytest.approx(1, rel=1e-3)
    assert values.pop("compute_slowdown") is None  # hardly any compute is beside a launch
    assert values == pytest.approx(TRUTH, rel=1e-3)
    assert answer.rows[-1].measured_us is None
    assert answer.rows[-1].time_us == pytest.approx(true_time(64, "wfbp"), rel=1e-3)
    assert answer.worst_error < 1e-3
    assert answer.model is not None
    assert answer.model.hop_us == pytest.approx(20, rel=1e-3)
    assert answer.summary[0].startswith("8 rows have a time and 1 are predicted")


def test_what_is_not_determined_is_in_the_intervals() -> None:
    """One row of compute alone: the network may be anything, and is said to be."""
    answer = ask(body(rows=[rows()[0], {"graph": "two", "workers": 16, "policy": "single"}]))
    alone, asked = answer.rows
    assert alone.low_us < alone.time_us < alone.high_us < 1.2 * alone.time_us
    assert asked.low_us < 0.7 * asked.time_us < 1.4 * asked.time_us < asked.high_us
    assert "how far off these may be is in the interval of each time" in answer.summary[1]
    assert "compute_slowdown 1.2" in answer.summary[2]


def test_a_text_says_the_same_as_rows() -> None:
    lines = [f"two,{row['workers']},{row['policy']},{row['time_us']!r}" for row in rows()]
    text = "\n".join(["graph,workers,policy,time_us", *lines])
    assert ask(body(rows=None, text=text)) == ask(body())


def test_networks_of_nominal_bandwidth() -> None:
    several = [
        row | {"network": network, "bandwidth_gbps": nominal}
        for network, nominal in (("a", 5.0), ("b", 8.0))
        for row in rows()
    ]
    answer = ask(body(rows=several))
    shares = {e.subject: e.value for e in answer.parameters if e.name == "bandwidth_share"}
    assert shares == pytest.approx({"a": 0.8, "b": 0.5}, rel=1e-3)
    assert [(cost.network, cost.bandwidth_gbps) for cost in answer.costs] == [("a", 5), ("b", 8)]
    assert [cost.model.bandwidth_gbps for cost in answer.costs] == pytest.approx([4, 4], rel=1e-3)
    assert answer.model is None


def test_what_is_assumed_of_bytescheduler_is_said() -> None:
    def summary(policy: Json) -> str:
        asked = {"graph": "two", "workers": 64, "policy": policy}
        return " ".join(ask(body(rows=[*rows(), asked])).summary)

    assert "without Horovod's loop" in summary({"policy": "bytescheduler"})
    assert "loop" not in summary({"policy": "bytescheduler", "cycle_time_us": 5000})
    assert "loop" not in summary({"policy": "horovod"})


def test_one_row_of_a_network_is_enough() -> None:
    few = [row for row in rows() if row["workers"] in (1, 4) and row["policy"] == "wfbp"]
    answer = ask(body(rows=few))
    used = {each.name: each.used for each in answer.parameters}
    assert 30 < used["startup_us"] < 300
    assert 10 < used["hop_us"] < 90
    assert answer.model is not None
    assert answer.model.startup_us == used["startup_us"]
    assert answer.summary[1].startswith("The rows do not determine")
    assert all(each.reason for each in answer.parameters if each.value is None)


TABLE = {"workers": 8, "algorithm": "table", "table": [[1, 1.0], [2, 2.0]]}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (body(rows=None), [("/rows", "missing_field")]),
        (body(text="graph,workers,policy\n"), [("/rows", "extra_field")]),
        (body(rows=rows(times=False)), [("/rows", "missing_field")]),
        (body(rows=None, text="a,b\n1,2\n"), [("/text", "wrong_format")]),
        (body(graphs={}), [(f"/rows/{i}/graph", "out_of_range") for i in range(8)]),
        (body(cluster=TABLE), [("/cluster/algorithm", "out_of_range")]),
        (body(parameters=["wfbp.x"]), [("/parameters/0", "out_of_range")]),
        (body(rows=[rows()[0] | {"throughput": 1.0}]), [
            ("/rows/0/throughput", "extra_field"), ("/rows/0/batch", "missing_field"),
        ]),
    ],
)  # fmt: skip
def test_refused(raw: Json, expected: list[tuple[str, str]]) -> None:
    assert refused(raw) == expected


def test_a_channel_that_the_cluster_lacks() -> None:
    graph = copy.deepcopy(GRAPH)
    graph["ops"][1]["channel"] = "nvlink"
    assert ("/graph/ops/0/channel", "unknown_channel") in refused(body(graphs={"two": graph}))


def test_over_the_wire(service: Service) -> None:
    answer = service.client.post("/v1/estimates", json=EXAMPLE)
    assert answer.status_code == 200
    assert answer.json() == ask(EXAMPLE).model_dump(mode="json")
    stored = service.client.post("/v1/graphs", json={"graph": GRAPH}).json()["id"]
    named = [row | {"graph": stored} for row in rows()]
    by_id = service.client.post("/v1/estimates", json={"rows": named}).json()
    values = {each["name"]: each["value"] for each in by_id["parameters"]}
    assert values["bandwidth_gbps"] == pytest.approx(4, rel=1e-3)
    unknown = service.client.post("/v1/estimates", json=body(graphs={}))
    assert faults(unknown) == {("/graphs", "unknown_graph")}


def write(folder: Path) -> str:
    (folder / "two.json").write_text(json.dumps(GRAPH))
    lines = [f"two.json,{row['workers']},{row['policy']},{row['time_us']!r}" for row in rows()]
    table = ["graph,workers,policy,time_us", *lines, "two.json,64,wfbp,"]
    (folder / "times.csv").write_text("\n".join(table))
    return str(folder / "times.csv")


def test_calibrate_reads_iteration_times(tmp_path: Path, run: Run) -> None:
    table = write(tmp_path)
    done = run("calibrate", table)
    assert (done.returncode, done.stderr) == (0, "")
    figures = {
        line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if line[:2] == "  "
    }
    assert float(figures["bandwidth_gbps"]) == pytest.approx(4, rel=1e-3)
    assert float(figures["hop_us"]) == pytest.approx(20, rel=1e-3)
    predicted = done.stdout.splitlines()[-1].split()
    assert predicted[:4] == ["two.json", "64", "wfbp", "-"]
    assert float(predicted[4]) == pytest.approx(true_time(64, "wfbp") / 1e3, rel=1e-3)


def test_the_estimate_is_a_cost_model_for_plans(tmp_path: Path, run: Run) -> None:
    table = write(tmp_path)
    (tmp_path / "model.json").write_text(run("calibrate", table, "--json").stdout)
    given = ("--cost-model", str(tmp_path / "model.json"), "--workers", "16", "--json")
    done = run("simulate", str(tmp_path / "two.json"), "--policy", "wfbp", "--barrier", *given)
    assert (done.returncode, done.stderr) == (0, "")
    time = json.loads(done.stdout)["iteration_time_us"]
    assert time == pytest.approx(true_time(16, "wfbp"), rel=1e-3)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--fit", "linear"), "does not count with iteration times"),
        (("--parameter", "wfbp.x"), "cannot be estimated"),
        (("--bandwidth-gbps", "-1"), "--bandwidth-gbps"),
    ],
)
def test_wrong_flags(tmp_path: Path, flags: tuple[str, ...], says: str, run: Run) -> None:
    done = run("calibrate", write(tmp_path), *flags)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_graph_that_is_not_there(tmp_path: Path, run: Run) -> None:
    table = write(tmp_path)
    (tmp_path / "two.json").unlink()
    done = run("calibrate", table)
    assert done.returncode != 0
    assert "No such file" in done.stderr


def test_flags_of_times_beside_a_benchmark(tmp_path: Path, run: Run) -> None:
    done = run("calibrate", "-", "--startup-us", "5", stdin="size(B),time(us)\n1,2\n")
    assert done.returncode == 2
    assert "does not count with a benchmark" in done.stderr
