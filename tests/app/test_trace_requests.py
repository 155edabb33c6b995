"""From rank files to a plan in one step: the cluster that a trace tells, and flags that win."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.schemas.clusters import ClusterBody
from app.services.trace_clusters import with_cluster
from app.services.warnings import warnings_of
from solver.costs import ChannelCost, network_of
from solver.graph import Op, build
from solver.traces import Report, Sample, Trace, TraceChannel
from tests.app.command import Run
from tests.app.compiled import COMPILED
from tests.app.long import search
from tests.app.service import Service, environment, faults, two_layers
from tests.kineto_events import AUTOGRAD, kernel, note, sized, small, text

PROFILE = """\
node1 -- Conv2d -- forward_compute_time=1, backward_compute_time=2, parameter_size=4000000
node2 -- Linear -- forward_compute_time=1, backward_compute_time=2, parameter_size=8000000
\tnode1 -- node2
"""
#: Steps of (channel, kind, bytes, us); the all-reduces are 20 us and 0.1 us a byte.
LAUNCHES = (
    ("data", "all_reduce", 1000, 120.0),
    ("data", "all_reduce", 4000, 420.0),
    ("tensor", "all_gather", 1000, 40.0),
    ("tensor", "all_gather", 3000, 80.0),
    ("tensor", "reduce_scatter", 2000, 60.0),
)


def two_streams() -> bytes:
    """One step with a collective on each of two streams, in a world of 4."""
    second = kernel(8, 46, 52, 60, AUTOGRAD, (0, 21), "ncclKernel_AllReduce_RING_LL")
    second[1]["args"] |= sized(40_000)
    named = note("nccl:all_reduce", 45, 3, AUTOGRAD)
    whole: bytes = text(
        [*small(sized(25_000), sized(50_000)), *second, named], distributedInfo={"world_size": 4}
    )
    return whole


def trace(
    launches: Any = LAUNCHES, workers: Any = (("data", 8), ("tensor", 2)), **report: Any
) -> Trace:
    """A trace of these launches, one after another."""
    ops = [Op("b", "compute", 100.0, None, ())]
    for i, (channel, kind, size, _) in enumerate(launches):
        ops.append(Op(f"c{i}", kind, None, size, (ops[-1].id,), channel))
    return Trace(
        build("made", ops),
        Report("kineto", 1, 0, len(ops), {}, **report),
        channels=tuple(TraceChannel(name, count, "a test") for name, count in workers),
        samples=tuple(Sample(*launch) for launch in launches if launch[3]),
    )


def suggested(made: Trace) -> tuple[ClusterBody, Any, str]:
    """Return the cluster as a request reads it, the costs, and what was assumed."""
    told, about = with_cluster(made)
    assert about.cluster is not None
    return ClusterBody.model_validate(about.cluster), about.costs, " ".join(told.report.assumed)


def test_costs_are_those_of_the_launches() -> None:
    body, costs, assumed = suggested(trace())
    network = network_of(body.to_cluster())
    for channel, kind, size, time in LAUNCHES:
        assert network(ChannelCost(channel, kind)).time(size) == pytest.approx(time, rel=1e-6)
    assert body.workers == 8
    assert [body.channels[name].workers for name in ("data", "tensor")] == [None, 2]
    assert {(cost.channel, cost.kind, cost.basis) for cost in costs} == {
        ("data", "all_reduce", "own_sizes"),
        ("tensor", "all_gather", "own_sizes"),
        ("tensor", "reduce_scatter", "shared_bandwidth"),
    }
    assert all(cost.error_worst < 1e-6 for cost in costs)
    assert "all_reduce on data: 20 us a launch and 1e+05 us a MB" in assumed


@pytest.mark.parametrize(
    ("sizes", "workers", "own"),
    [
        # hybrid sharding: more machines are more copies, as large as they are
        ({"shard": 2, "replicate": 2}, 2, {"shard": 2, "replicate": None}),
        ({"shard": 8, "replicate": 2}, 2, {"shard": 8, "replicate": None}),
        ({"dp": 4, "tp": 8}, 4, {"dp": None, "tp": 8}),
        ({"dp_shard": 4, "tp": 8}, 4, {"dp_shard": None, "tp": 8}),
        # no name says it: the largest
        ({"gpu 0 stream 20": 8, "gpu 0 stream 24": 4}, 8,
         {"gpu 0 stream 20": None, "gpu 0 stream 24": 4}),
        ({"tp": 4, "pp": 2}, 4, {"tp": None, "pp": 2}),
        # the network, and what is not inside one model
        ({"network": 8, "nvlink": 8}, 8, {"nvlink": 8}),
        ({"network": 8, "tp": 8}, 8, {"tp": 8}),
        ({"network": 8, "other": 8}, 8, {"other": None}),
    ],
)  # fmt: skip
def test_what_grows_with_the_workers(
    sizes: dict[str, int], workers: int, own: dict[str, int | None]
) -> None:
    launches = [(name, "all_reduce", 1000, 120.0) for name in sizes]
    body, _, assumed = suggested(trace(launches, tuple(sizes.items())))
    assert body.workers == workers
    assert {name: channel.workers for name, channel in body.channels.items()} == own
    fixed = [name for name, count in own.items() if count]
    assert all(name in assumed.partition("Workers are those of")[2] for name in fixed)


def test_the_only_channel_is_the_network() -> None:
    launches = [("network", *launch[1:]) for launch in LAUNCHES[:2]]
    body, _, _ = suggested(trace(launches, [("network", 8)]))
    assert (body.workers, body.channels) == (8, {})
    assert body.startup_us == pytest.approx(20)
    assert body.cost_model is not None
    assert body.cost_model.algorithm == "linear"
    assert body.cost_model.bandwidth_gbps == pytest.approx(1.75 / 0.1 / 125, rel=1e-3)


def test_a_kind_without_times_is_a_ring_beside_the_others() -> None:
    launches = [*LAUNCHES[:2], ("data", "broadcast", 5000, 0.0)]
    body, costs, assumed = suggested(trace(launches, [("data", 8)]))
    assert [cost.kind for cost in costs] == ["all_reduce"]
    cost = network_of(body.to_cluster())(ChannelCost("data", "broadcast"))
    assert cost.time(4000) == pytest.approx(20 + 4000 * 0.1 / 1.75, rel=1e-6)
    assert "broadcast on data: no times" in assumed


@pytest.mark.parametrize(
    ("launches", "workers", "says"),
    [
        ([("x", "all_reduce", 100, 0.0)], [("x", 4)], "Channel x: no launches"),
        ([("x", "all_reduce", 100, 0.0)], [], "8 workers (assumed: --workers); no launches"),
        ([("x", "all_reduce", 100, 9.0)], [], "8 workers (assumed: --workers)."),
        ([("x", "all_reduce", 100, 9.0)], [("x", None)], "8 workers (assumed: --workers)."),
        ([("x", "all_reduce", 100, 9.0)], [("x", 1)], "Channel x: its collectives cost"),
        ([("x", "all_reduce", 100, 9.0)], [("x", 2)], "the start-up is assumed (--startup-us)"),
    ],
)
def test_what_is_not_known_is_said(launches: Any, workers: Any, says: str) -> None:
    body, _, assumed = suggested(trace(launches, workers))
    assert says in assumed
    assert network_of(body.to_cluster())(ChannelCost("x", "all_reduce")).time(100) >= 0


def test_a_launch_that_was_cut_off_is_left_out_and_said() -> None:
    launches = [("data", "all_reduce", n * 1000, 20.0 + 100 * n) for n in (1, 4, 8)] * 4
    plain, _, _ = suggested(trace(launches))
    cluster, [cost], said = suggested(trace([*launches, ("data", "all_reduce", 8000, 1.0)]))
    assert cluster == plain
    assert (cost.launches, cost.left_out) == (12, 1)
    assert "1 launch is left out: far too short beside the others" in said


def test_a_cluster_keeps_how_well_its_costs_fit_by_the_bytes_of_each_kind() -> None:
    loose = [("data", "all_reduce", 1000, time) for time in (100.0, 300.0, 900.0, 2700.0)]
    exact = [("data", "all_gather", 3000, 50.0)] * 4
    body, costs, _ = suggested(trace([*loose, *exact]))
    model = body.channels["data"].cost_model
    assert model is not None
    errors = {cost.kind: cost.error_median for cost in costs}
    assert errors["all_reduce"] > 0.3
    assert errors["all_gather"] == pytest.approx(0, abs=1e-6)
    assert model.error_median == pytest.approx(errors["all_reduce"] / 4, rel=1e-6)
    assert model.error_p90 == pytest.approx(costs[0].error_p90 / 4, rel=1e-6)
    assert model.spread == pytest.approx((costs[0].spread or 0) / 4, rel=1e-6)
    (_, channel), *_ = body.to_cluster().channels
    assert channel.cost_error == model.cost_error


def test_how_well_costs_fit_stands_beside_the_gain(run: Run, tmp_path: Path) -> None:
    events: list[Any] = []
    for i, took in enumerate((100.0, 300.0, 900.0)):
        at = i * 4000.0
        events += [
            note(f"ProfilerStep#{i + 1}", at, 4000),
            *kernel(9 * i + 1, at + 1, at + 2, at + 9),
        ]
        launch = kernel(
            9 * i + 2,
            at + 10,
            at + 12,
            at + 12 + took,
            AUTOGRAD,
            (0, 21),
            "ncclKernel_AllReduce_RING_LL",
        )
        launch[1]["args"] |= sized(1_000_000)
        events += [*launch, *kernel(9 * i + 3, at + 2000, at + 2001, at + 2010)]
    path = tmp_path / "rank0.json"
    path.write_bytes(text(events, distributedInfo={"world_size": 4}))
    head = " ".join(run("plan", str(path)).stdout.partition("Time of one iteration")[0].split())
    assert "The costs fit what was measured within 57.1 % in the median, nine of ten" in head
    assert "Repeated measurements of one size were" in head


def test_launches_beyond_the_recorded_sizes_are_warned_of() -> None:
    body, _, _ = suggested(trace())
    lane = ChannelCost("tensor", "all_gather")
    for sizes, says in (
        ([1000, 3000], []),
        ([999, 3001], ["2 of 2 launches (999 to 3,001 bytes)"]),
    ):
        [*found] = warnings_of(body, {lane: sizes})
        assert [
            warning.detail[: len(line)] for warning, line in zip(found, says, strict=True)
        ] == says
        assert all("1,000 to 3,000 bytes" in warning.detail for warning in found)


def test_each_kind_is_warned_of_by_its_own_sizes() -> None:
    launches = [("n", "broadcast", 500, 12.0), ("n", "broadcast", 900, 14.0)]
    launches += [("n", "all_reduce", 10**6, 900.0), ("n", "all_reduce", 10**7, 8000.0)]
    body, _, _ = suggested(trace(launches, [("n", 8)]))
    [one] = warnings_of(body, {ChannelCost("n", "all_reduce"): [600]})
    assert "1,000,000 to 10,000,000 bytes" in one.detail
    assert warnings_of(body, {ChannelCost("n", "broadcast"): [600]}) == []


def test_too_many_channels_are_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 64  # each costs a fit
    monkeypatch.setattr("app.services.trace_clusters.MAX_CHANNELS", most)
    many = [(f"c{i}", "all_reduce", 100, 9.0) for i in range(most + 1)]
    told, about = with_cluster(trace(many, []))
    assert about == (None, ())
    refused = f"No cluster is suggested: the graph has {most + 1} channels"
    assert refused in told.report.assumed[-1]
    assert with_cluster(trace(many[1:], []))[1].cluster is not None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rank0.json"
    path.write_bytes(two_streams())
    return path


def planned(run: Run, *arguments: str) -> Any:
    done = run("plan", *arguments, "--json", "--time-limit", "1")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_streams_are_planned_without_a_flag(file: Path, run: Run) -> None:
    answer = planned(run, str(file))
    channels = answer["request"]["cluster"]["channels"]
    assert len(channels) == 2
    assert answer["request"]["cluster"]["workers"] == 4
    assert {each["cost_model"]["name"] for each in channels.values()} == {"recorded"}
    today = answer["baselines"][0]["iteration_time_us"]
    evidence = answer["evidence"]
    assert (evidence["recorded_us"], evidence["recorded_simulated_us"]) == (100.0, today)
    assert evidence["trust_below"] >= abs(today / 100.0 - 1)
    shown = run("plan", str(file)).stdout
    assert re.search(r"as recorded +0\.100 ms  measured\n", shown)
    assert re.search(rf"  as recorded, simulated +{today / 1e3:.3f} ms  as you run it", shown)


def test_recorded_times_are_not_asked_about(run: Run, tmp_path: Path) -> None:
    """Half a GB beside 19 us of compute: of a graph of JSON one asks for the unit."""
    path = tmp_path / "rank0.json"
    path.write_bytes(text(small(sized(10**8), sized(10**8)), distributedInfo={"world_size": 4}))
    imported = run("import", str(path), "--json").stdout
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps(json.loads(imported)["graph"]))
    codes = [
        [
            warning["code"]
            for warning in json.loads(run("plan", str(each), "--json").stdout)["warnings"]
        ]
        for each in (path, graph)
    ]
    assert "units_in_doubt" not in codes[0]
    assert "units_in_doubt" not in codes[1]  # it keeps its recording


@pytest.fixture
def ranks(tmp_path: Path) -> list[str]:
    """Files of two ranks, of which the first is the slowest."""
    slow = (sized(25_000), sized(50_000))
    late = json.loads(text(small(*slow), distributedInfo={"world_size": 2}))
    for event in late["traceEvents"]:
        if "AllReduce" in event["name"]:
            event["ts"], event["dur"] = event["ts"] + 2, event["dur"] - 2
    paths = [tmp_path / "rank0.json", tmp_path / "rank1.json"]
    paths[0].write_text(json.dumps(late))
    paths[1].write_bytes(text(small(*slow), distributedInfo={"world_size": 2}))
    return [str(path) for path in paths]


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "--time-limit", "1"),
        ("import",),
        ("simulate",),
        ("predict", "--workers", "2,4"),
        ("sweep", "--workers", "2,4", "--time-limit", "0.1"),
        ("export", "--format", "csv", "--out", "written"),
    ],
    ids=lambda command: command[0],
)
def test_a_rank_is_chosen(
    ranks: list[str], run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    command = tuple(each.replace("written", str(tmp_path)) for each in command)
    said = [
        run(command[0], *ranks, *command[1:], *rank)
        for rank in ([], ["--rank", "slowest"], ["--rank", "0"], ["--rank", "1"])
    ]
    assert [each.returncode for each in said] == [0] * 4, said[-1].stderr
    if command[0] in {"plan", "import"}:
        texts = [" ".join(each.stdout.split()) for each in said]
        assert all("the graph is that of file 1, the slowest" in each for each in texts[:3])
        assert "the graph is that of file 2, as asked" in texts[3]
    for rank, where in (("2", "Files 0 to 1 are there, not rank 2"), ("-1", "use the place")):
        refused = run(command[0], *ranks, *command[1:], "--rank", rank)
        assert refused.returncode != 0
        assert where in " ".join(refused.stderr.split())


def test_a_rank_is_of_a_trace(run: Run, tmp_path: Path) -> None:
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps(two_layers()))
    refused = run("predict", str(graph), "--rank", "0")
    assert refused.returncode == 2
    assert "--rank: The file is no trace" in refused.stderr


def test_a_network_that_carries_nothing_is_not_printed(file: Path, run: Run) -> None:
    for command in ("plan", "simulate"):
        lines = run(command, str(file)).stdout.splitlines()
        assert "start-up" not in lines[lines.index("rank0 on 2 channels") + 1]


def test_a_step_that_waits_is_told_from_costs(run: Run, file: Path) -> None:
    shown = " ".join(run("plan", str(file)).stdout.split())
    assert "The recorded step took 0.100 ms; simulated with the costs of this cluster it" in shown
    assert "waiting for other ranks and for the CPU, which no plan shortens" in shown
    scaled = planned(run, str(file), "--bandwidth-gbps", "1")["evidence"]
    assert (scaled["recorded_us"], scaled["recorded_simulated_us"]) == (100.0, None)


def test_what_import_prints_is_planned_alike(file: Path, run: Run, tmp_path: Path) -> None:
    request = tmp_path / "request.json"
    request.write_text(run("import", str(file), "--json").stdout)
    theirs = planned(run, str(request))
    ours = planned(run, str(file))
    assert theirs | {"runtime_s": 0} == ours | {"runtime_s": 0}
    value = json.loads(request.read_text())
    assert list(value) == ["id", "graph", "cluster", "costs", "steps", "report"]
    value["report"]["ops"] = "many"
    request.write_text(json.dumps(value))
    done = run("plan", str(request))
    assert (done.returncode, done.stdout) == (1, "")
    assert "/report/ops" in done.stderr


@pytest.mark.parametrize("through", ["trace", "request"])
def test_flags_win_and_the_answer_says_so(
    file: Path, run: Run, tmp_path: Path, through: str
) -> None:
    path = file
    if through == "request":
        path = tmp_path / "request.json"
        path.write_text(run("import", str(file), "--json").stdout)
    plain = planned(run, str(path))["request"]["cluster"]
    flags = ("--workers", "8", "--startup-us", "7", "--bandwidth-gbps", "25")
    answer = planned(run, str(path), *flags)
    cluster = answer["request"]["cluster"]
    assert cluster["workers"] == 8
    for name, channel in cluster["channels"].items():
        assert (channel["startup_us"], channel["bandwidth_gbps"]) == (7, 25)
        assert channel["cost_model"] == plain["channels"][name]["cost_model"]
    said = " ".join(answer["report"]["assumed"])
    assert "8 workers by --workers, instead of 4 workers." in said
    assert "7 us by --startup-us, instead of what was recorded." in said
    assert "25 Gbit/s by --bandwidth-gbps, instead of what was recorded." in said
    assert {"extrapolated"} <= {warning["code"] for warning in answer["warnings"]}


def test_a_cost_model_wins_on_every_channel(file: Path, run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_text(json.dumps({"name": "ours", "bandwidth_gbps": 100, "startup_us": 3}))
    answer = planned(run, str(file), "--cost-model", str(model))
    channels = answer["request"]["cluster"]["channels"].values()
    assert [each["cost_model"]["name"] for each in channels] == ["ours", "ours"]
    assert answer["request"]["cluster"]["workers"] == 4
    assert "Costs by --cost-model" in answer["report"]["assumed"][-1]


def test_a_profile_without_collectives_says_what_it_took(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text(PROFILE)
    answer = planned(run, str(path))
    assert answer["evidence"]["recorded_us"] is None
    assert answer["request"]["cluster"]["bandwidth_gbps"] == 10
    assert "Channel network: 8 workers (assumed: --workers); no launches" in str(answer["report"])


def test_the_other_commands_take_the_cluster_too(file: Path, run: Run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(planned(run, str(file))))
    for arguments in (
        ("simulate", str(file), "--policy", "wfbp"),
        ("simulate", str(file), "--plan", str(plan)),
        ("predict", str(file), "--time-limit", "1"),
        ("export", str(file), "--plan", str(plan), "--format", "chrome"),
        ("export", str(file), "--format", "chrome"),
    ):
        done = run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)


def test_files_that_are_no_trace_of_several_ranks(file: Path, run: Run, tmp_path: Path) -> None:
    other = tmp_path / "graph.json"
    other.write_text("{}")
    done = run("plan", str(file), str(other))
    assert done.returncode == 1
    assert done.stderr.startswith(f"interlace: {file}, {other}")


def test_steps_and_parameters_are_of_traces(run: Run, tmp_path: Path) -> None:
    graph, names = tmp_path / "graph.json", tmp_path / "parameters.json"
    graph.write_text(json.dumps(two_layers()))
    names.write_text("[]")
    for command in (("plan",), ("simulate",), ("export", "--format", "chrome")):
        done = run(*command, str(graph), "--step", "0", "--parameters", str(names))
        assert (done.returncode, done.stdout) == (2, "")
        assert "--step: The file is no trace" in done.stderr
        assert "--parameters: The file is no trace" in done.stderr


def test_a_policy_is_given_once(file: Path, run: Run) -> None:
    done = run("simulate", str(file), "--policy", "ddp", "--policy", "wfbp")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--policy: is given more than once" in done.stderr


def test_out_is_what_json_prints(file: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    page = run("plan", str(file), "--out", str(out)).stdout
    assert "\n\nrank0 on 2 channels\n" in page
    written, printed = json.loads(out.read_text()), planned(run, str(file))
    for answer in (written, printed):
        del answer["runtime_s"], answer["request"]
    assert written == printed


def test_progress_is_lines_where_there_is_no_terminal(file: Path, run: Run) -> None:
    assert run("plan", str(file)).stderr == ""
    lines = run("plan", str(file), "--progress").stderr.splitlines()
    assert lines[0] == "interlace: policies"
    assert any(line.startswith("interlace: explanation: best 0.") for line in lines)
    assert run("import", str(file), "--progress").stderr == "interlace: reading 1 file\n"


@pytest.mark.live
def test_an_interrupt_keeps_the_best_plan(tmp_path: Path) -> None:
    path = tmp_path / "search.json"
    path.write_text(json.dumps(search(options={"time_limit_s": 100, "baselines": ["wfbp"]})))
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "app", "plan", str(path), "--progress", "--json"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("interlace: search"):
                break
        os.kill(process.pid, signal.SIGINT)
        printed, said = process.communicate()
    assert process.returncode == 130
    assert said.endswith("interlace: interrupted: this is the best plan so far\n")
    answer = json.loads(printed)
    assert answer["iteration_time_us"] >= answer["lower_bound_us"] > 0
    assert answer["summary"] is None


def test_an_import_answers_a_request(service: Service) -> None:
    made = service.client.post("/v1/graphs", content=two_streams()).json()
    assert service.client.get(f"/v1/graphs/{made['id']}").json() == made
    assert {cost["basis"] for cost in made["costs"]} <= {"own_sizes", "assumed_startup"}
    body = {"graph_id": made["id"], "cluster": made["cluster"], "options": {"time_limit_s": 1}}
    answer = service.post(body)
    assert answer.status_code == 201, answer.text
    assert len(answer.json()["request"]["cluster"]["channels"]) == 2
    own = {"ops": made["graph"]["ops"]}
    assert service.client.post("/v1/graphs", json=own).json()["cluster"] is None


def test_a_file_of_our_own_keeps_its_cluster(service: Service, run: Run, tmp_path: Path) -> None:
    asked = two_layers()
    made = service.client.post("/v1/graphs", json=asked).json()
    assert (made["cluster"], made["costs"]) == (asked["cluster"], [])
    assert service.client.get(f"/v1/graphs/{made['id']}").json() == made
    (tmp_path / "own.json").write_text(json.dumps(asked))
    printed = json.loads(run("import", str(tmp_path / "own.json"), "--json").stdout)
    assert printed["cluster"] == asked["cluster"]
    compiled = service.client.post("/v1/graphs", json=COMPILED).json()
    assert compiled["cluster"] == {
        "channels": {
            "pg": {
                "workers": 4,
                "algorithm": "table",
                "tables": COMPILED["channels"]["pg"]["tables"],
            }
        }
    }
    wrong = service.client.post("/v1/graphs", json={**asked, "cluster": {"workers": 0}})
    assert faults(wrong) == {("/cluster/workers", "out_of_range")}
