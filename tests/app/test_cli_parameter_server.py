"""The command parameter-server: what it reads, prints and writes."""

import copy
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from app.routers.parameter_servers import EXAMPLE
from app.services.examples import TWO_LAYERS
from tests.app.command import Run
from tests.app.service import Json, Service
from tests.dlc_oracle import rows_of, text_of

DATA = Path(__file__).parents[1] / "data"
DLC = tuple(str(DATA / f"dlc_{node}.txt") for node in ("w0", "w1", "s0"))
SESSION, PROFILE = (str(DATA / f"tensorflow_{name}.json.gz") for name in ("timeline", "profile"))
LAYERS: Json = {
    "layers": [
        {"bytes": 1_000_000, "forward_us": 400, "backward_us": 900},
        {"bytes": 0, "flops": 2.5e8},
        {"bytes": 4_000_000, "forward_us": 450, "backward_us": 800},
    ],
    "batch_size": 64,
    "peak_flops": 1.4e13,
    "utilisation": 0.5,
    "cluster": {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50},
    "workers": [1, 3],
    "timeout_us": 100,
}
#: Few steps: what is printed is what is tested.
QUICK = ("--simulated-steps", "40", "--dropped-steps", "4")


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.json").write_text(json.dumps(TWO_LAYERS))
    (tmp_path / "layers.json").write_text(json.dumps(LAYERS))
    (tmp_path / "steps.json").write_text(json.dumps(EXAMPLE))
    return "steps.json"


def answer(run: Run, *arguments: str, stdin: str = "") -> Any:
    done = run("parameter-server", *arguments, *QUICK, "--json", stdin=stdin)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_page(tmp_path: Path, steps: str, run: Run) -> None:
    done = run("parameter-server", str(tmp_path / steps), "--workers", "1,4")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == ("two layers: examples/s, batches of 32, asynchronous, from 1 profiled step")
    heads, one, four = lines[2:5]
    words = "workers examples/s from to step ms worker server uplink downlink Lin Cynthia bound"
    assert heads.split() == [*words.split(), "limited", "by"]
    assert one.split()[0] == "1"
    assert "worker +" in one
    assert four.split()[0] == "4"
    text = " ".join(done.stdout.split())
    assert "At 10 Gbit/s 4 workers, the most that were simulated, still gain more than 1 %" in text
    assert "busiest link carries 2,000.0 examples/s at most." in text
    assert "Lin et al.: a closed queueing network" in text


def test_several_bandwidths_and_nothing_explained(run: Run, steps: str) -> None:
    flags = ("--bandwidths-gbps", "1,10", "--workers", "2", "--no-explain", "--synchronous")
    done = run("parameter-server", steps, *flags, *QUICK)
    lines = done.stdout.splitlines()
    assert ", in step, " in lines[0]
    assert lines[2].split()[:2] == ["Gbit/s", "workers"]
    assert [line.split()[:2] for line in lines[3:5]] == [["1", "2"], ["10", "2"]]
    assert all(line.endswith(" -") for line in lines[3:5])


def test_flags_are_fields(run: Run, steps: str) -> None:
    found = answer(
        run, steps, "--workers", "3,1", "--bandwidths-gbps", "5", "--batch-size", "8",
        "--no-flow-control", "--parse-us-per-byte", "0.001", "--parse-us", "5", "--order", "tic",
        "--synchronous", "--spread", "0.1", "--seed", "3", "--no-explain",
    )  # fmt: skip
    asked = found["request"]
    del asked["steps_sha256"]
    assert asked == {
        "graph_sha256": None,
        "servers": None,
        "update_us_per_byte": None,
        "batch_size": 8,
        "workers": [3, 1],
        "bandwidths_gbps": [5],
        "flow_control": False,
        "win_bytes": None,
        "parse_us_per_byte": 0.001,
        "parse_us": 5,
        "order": "tic",
        "simulated_steps": 40,
        "dropped_steps": 4,
        "seed": 3,
        "synchronous": True,
        "fit": False,
        "spread": 0.1,
        "explain": False,
    }


def test_graphs_layers_and_traces(run: Run, steps: str) -> None:
    flags = ("--batch-size", "16", "--workers", "1,2")
    graph = answer(run, "two.json", *flags, "--servers", "2", "--update-us-per-byte", "0.001")
    assert graph["name"] == "two layers"
    assert graph["request"]["servers"] == 2
    assert graph["request"]["bandwidths_gbps"] == [10]
    # 1 MB and 4 MB one after the other each way, all compute between
    layers = answer(run, "layers.json")
    assert (layers["request"]["batch_size"], layers["request"]["workers"]) == (64, [1, 3])
    assert layers["rows"][0]["step_us"] > 2_550
    files = [str(DATA / f"kineto_gloo_{rank}.json.gz") for rank in (0, 1)]
    trace = answer(run, *files, *flags, "--step", "1", "--rank", "1")
    assert trace["name"] == "kineto_gloo_0"
    assert trace["rows"][0]["examples_per_s"] > 0
    example = run("example", "vgg16").stdout
    assert answer(run, "-", *flags, stdin=example)["name"].startswith("VGG-16")


def test_files_are_written(run: Run, steps: str, tmp_path: Path) -> None:
    flags = ("--bandwidths-gbps", "1,10", "--at-bandwidth-gbps", "1", "--at-workers", "4")
    views = ("--csv", "rows.csv", "--plot", "speed.svg", "--timeline", "steps.trace.json")
    found = answer(run, steps, *flags, *views, "--from-step", "2", "--timeline-steps", "1")
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert [float(row["examples_per_s"]) for row in rows] == [
        row["examples_per_s"] for row in found["rows"]
    ]
    drawn = (tmp_path / "speed.svg").read_text()
    assert "two layers: 1 Gbit/s, batches of 32" in drawn
    events = json.loads((tmp_path / "steps.trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1, 2, 3}
    assert {event["args"]["step"] for event in events if event["ph"] == "X"} == {2}


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (("two.json",), 1, "two.json /batch_size: batch_size is missing"),
        (("steps.json", "--workers", "0"), 2, "--workers: "),
        (("steps.json", "--workers", "2,x"), 2, "use numbers with commas between them"),
        (("steps.json", "--servers", "2"), 2, "--servers: servers says how a graph"),
        (("steps.json", "--spread", "-1"), 2, "--spread: "),
        (("steps.json", "--order", "best"), 2, "--order: "),
        (
            ("steps.json", "--no-flow-control", "--win-bytes", "5"),
            2,
            "--win-bytes: win_bytes is the window of flow control",
        ),
        (("steps.json", "--from-step", "5"), 2, "--from-step: needs --timeline or --dlc"),
        (("steps.json", "--timeline-steps", "5"), 2, "--timeline-steps: needs --timeline or --dlc"),
        (("steps.json", "--timeline", "t", "--at-workers", "3"), 2, "--at-workers"),
        (("steps.json", "--at-bandwidth-gbps", "3"), 2, "--at-bandwidth-gbps"),
        (("steps.json", "--timeline", "t", "--from-step", "400"), 2, "--from-step"),
        (("steps.json", "--csv", "no/rows.csv"), 2, "--csv"),
        (("steps.json", "--plot", "no/speed.svg"), 2, "--plot"),
        (("steps.json", "--dlc", "no/nodes"), 2, "--dlc: no folder no"),
        (("steps.json", "--dlc", "steps.json"), 2, "--dlc: steps.json is no folder"),
        (("steps.json", "--dlc", "."), 2, " is of another run"),
        (("steps.json", "--dlc", "nodes", "--from-step", "400"), 2, "--from-step"),
        ((DLC[0], "--batch-size", "1", "--servers", "2"), 2, "--servers: servers says how a graph"),
        ((DLC[0], "--batch-size", "1", "--rank", "1"), 1, "and 1 is no worker's"),
        ((DLC[2], "--batch-size", "1"), 1, "No worker's iteration was recorded as a whole."),
        ((SESSION, "--batch-size", "1", "--rank", "2"), 1, "Workers 0 to 0 are in the trace"),
        (("many.txt", "--batch-size", "1"), 1, "many.txt: At most 16 servers, got 17: 's0', 's1'"),
        (("empty.txt", "--batch-size", "1"), 1, "empty.txt: Op 'pull:0': bytes must be 1"),
        ((PROFILE, "--batch-size", "1"), 1, ": No bytes of 'MatMul/ReadVariableOp' and 8 more: "),
        (("steps.json", "--step", "1"), 2, "--step: The file is no trace"),
        (("steps.json", "--tag", "x"), 2, "needs --server"),
        (("no.json",), 1, "no.json: No such file"),
        (("list.json",), 1, "list.json: "),
        (("gather.json", "--batch-size", "1"), 1, "gather.json /graph/ops/1/kind: "),
    ],
)
def test_wrong_use(
    run: Run, steps: str, tmp_path: Path, flags: tuple[str, ...], code: int, says: str
) -> None:
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "many.txt").write_text(of_servers(17, 10))
    (tmp_path / "empty.txt").write_text(of_servers(1, 0))
    gather = copy.deepcopy(TWO_LAYERS)
    gather["graph"]["ops"][1]["kind"] = "all_gather"
    (tmp_path / "gather.json").write_text(json.dumps(gather))
    done = run("parameter-server", *flags)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def of_servers(count: int, length: int) -> str:
    """Write the DLC trace of a worker that pushes a key to each server, and gets it back."""
    rows = [
        (i, server, stage, server, 1_000 * (i + 1) + 100 * stage + server, length)
        for i in (-1, 0)
        for server in range(count)
        for stage in range(4)
    ]
    return str(text_of("w0", 1, count, rows))


def test_dlc_traces_are_steps(run: Run, steps: str) -> None:
    flags = ("--batch-size", "16", "--workers", "1,2", "--bandwidths-gbps", "0.01")
    found = answer(run, *DLC, *flags)
    assert (found["name"], found["profiled_steps"]) == ("dlc_w0", 4)
    assert found["request"]["graph_sha256"] is None
    assert found["notes"][0] == (
        "Steps for parameter servers are iterations that w0 or w1 recorded as a whole."
    )
    assert not any("all-reduce" in note for note in found["notes"])  # that is said of the graph
    one = answer(run, *DLC, *flags, "--rank", "1", "--step", "0")
    assert one["profiled_steps"] == 1
    # compute, and what is sent each way at 1.25 bytes/us; servers update some while others push
    read = answer(run, DLC[0], *flags, "--step", "1", "--spread", "0")
    assert read["rows"][0]["step_us"] >= 1_050 + (506 + 100) / 1.25
    assert "Pushes have no update in the trace: it takes no time." in read["notes"]


def test_a_timeline_of_tensorflow_is_steps(run: Run, steps: str, tmp_path: Path) -> None:
    flags = ("--batch-size", "32", "--workers", "1,2")
    found = answer(run, SESSION, *flags)
    assert (found["name"], found["profiled_steps"]) == ("tensorflow_timeline", 1)
    assert found["notes"][0] == "Steps for parameter servers are those of worker0."
    assert not any("no graph" in note for note in found["notes"])
    (tmp_path / "import.json").write_text(run("import", SESSION, "--json").stdout)
    again = answer(run, "import.json", *flags)
    assert again["request"] == found["request"]
    both = json.loads(run("import", *DLC, "--json").stdout)
    assert both["graph"]
    (tmp_path / "import.json").write_text(json.dumps(both))
    assert answer(run, "import.json", *flags)["profiled_steps"] == 4


def test_all_steps_of_a_profile_are_steps(run: Run, steps: str) -> None:
    names = {"fc1/kernel": 131072, "fc1/bias": 512, "fc2/kernel": 5120, "fc2/bias": 40}
    reads = ("MatMul", "add", "MatMul_1", "add_1")
    sizes = dict(zip((f"{op}/ReadVariableOp" for op in reads), names.values(), strict=True))
    Path("sizes.json").write_text(json.dumps(names | sizes))
    flags = ("--batch-size", "32", "--workers", "1", "--parameters", "sizes.json")
    found = answer(run, PROFILE, *flags)
    assert found["profiled_steps"] == 2
    assert any(note.startswith("The profile names no inputs") for note in found["notes"])
    assert answer(run, PROFILE, *flags, "--step", "1")["profiled_steps"] == 1


def test_a_trace_with_collectives_is_a_graph(run: Run, steps: str) -> None:
    args = "device:/job:worker/replica:0/task:0/device:CPU:0 Compute"
    names = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": args[7:]}}
    allocators = {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "Allocators"}}
    ran: list[Json] = [
        {"ph": "X", "name": op, "pid": 1, "tid": 0, "ts": ts, "dur": 10, "args": about}
        for op, ts, about in (
            ("MatMul", 0, {"name": "g1", "op": "MatMul"}),
            ("CollectiveReduceV2", 10, {"name": "sum", "op": "CollectiveReduceV2", "input0": "g1"}),
        )
    ]
    Path("sum.json").write_text(json.dumps({"traceEvents": [names, allocators, *ran]}))
    Path("sizes.json").write_text('{"sum": 4000, "g1": 4000}')
    flags = ("--batch-size", "1", "--workers", "1", "--parameters", "sizes.json")
    found = answer(run, "sum.json", *flags, "--servers", "2")
    assert found["request"]["graph_sha256"]


def test_a_run_is_written_as_dlc_traces(run: Run, steps: str, tmp_path: Path) -> None:
    flags = ("--bandwidths-gbps", "1,10", "--at-bandwidth-gbps", "1", "--at-workers", "4")
    shown = ("--from-step", "2", "--timeline-steps", "3")
    answer(run, steps, *flags, *shown, "--dlc", "nodes", "--timeline", "steps.trace.json")
    nodes = sorted((tmp_path / "nodes").iterdir())
    assert [node.name for node in nodes] == ["s0.txt", "w0.txt", "w1.txt", "w2.txt", "w3.txt"]
    measured = json.loads(run("dlc", *map(str, nodes), "--json").stdout)
    assert measured["report"]["dlc"]["nodes"] == ["w0", "w1", "w2", "w3", "s0"]
    assert len(measured["report"]["dlc"]["iterations"]) == 4 * 3
    # the bytes of a step, those of the timeline too
    (volume,) = (each for each in measured["report"]["dlc"]["volume"] if each["node"] == "w0")
    ops = EXAMPLE["steps"][0]["ops"]
    assert volume["push_send_bytes"] == sum(op["bytes"] for op in ops if op["resource"] == "uplink")
    events = json.loads((tmp_path / "steps.trace.json").read_text())["traceEvents"]
    ends = [e["ts"] + e["dur"] for e in events if e["ph"] == "X" and e["cat"] == "uplink"]
    rows = [row for node in nodes[1:] for row in rows_of(node.read_text())]
    assert max(row[4] for row in rows if row[2] == 1) >= round(min(ends))
    texts = [node.read_text() for node in nodes]
    answer(run, steps, *flags, *shown, "--dlc", "nodes")  # once more into the same folder
    assert [node.read_text() for node in nodes] == texts
    # two whole iterations a worker are steps again
    back = answer(run, *map(str, nodes), "--batch-size", "32", "--workers", "1")
    assert back["profiled_steps"] == 4 * 2


def lasting(text: str) -> str:
    """Leave out how long it took."""
    return "".join(line for line in text.splitlines(True) if "runtime_s" not in line)


def test_a_service_says_the_same(service: Service, run: Run, steps: str, tmp_path: Path) -> None:
    url = str(service.client.base_url)
    for arguments in (
        ["steps.json", "--workers", "1,2", *QUICK],
        ["two.json", "--batch-size", "16", "--servers", "2", *QUICK, "--json"],
        ["steps.json", "--no-flow-control", "--csv", "rows.csv", *QUICK, "--json"],
        [*DLC, "--batch-size", "16", *QUICK, "--json"],
    ):
        here = run("parameter-server", *arguments)
        there = run("parameter-server", *arguments, "--server", url, "--tag", "ps", "--fresh")
        assert (here.returncode, here.stderr) == (0, "")
        assert (there.returncode, there.stderr) == (0, "")
        assert lasting(there.stdout) == lasting(here.stdout)
    wrong = run("parameter-server", "steps.json", "--servers", "2", "--server", url)
    assert (wrong.returncode, wrong.stderr[:22]) == (2, "interlace: --servers: ")


#: Two recorded steps on a link of 1 byte/us that parse 2 us a transfer.
RECORDED = {
    "name": "recorded",
    "batch_size": 4,
    "steps": [
        {
            "ops": [
                {
                    "id": "pull",
                    "resource": "downlink",
                    "bytes": size,
                    "start_us": 5,
                    "end_us": 5 + size,
                    "parse_us": 2,
                },
                {"id": "compute", "resource": "worker", "duration_us": 50, "after": ["pull"]},
            ]
        }
        for size in (100, 300)
    ],
}


def test_links_are_fitted_to_recorded_steps(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    path.write_text(json.dumps(RECORDED))
    flags = (str(path), "--fit", "--workers", "1", "--no-explain")
    fitted = answer(run, *flags)
    request = fitted["request"]
    assert request["bandwidths_gbps"] == [pytest.approx(0.008)]
    assert [request["parse_us_per_byte"], request["parse_us"]] == pytest.approx([0, 2])
    assert request["flow_control"] is False
    first, second, *_ = fitted["notes"]
    assert first.startswith("Fitted to recorded transfers: 0.008 Gbit/s, no window; parsing takes")
    assert second.startswith("2 recorded transfers on the downlink end so far from where they")
    assert answer(run, *flags, "--parse-us", "7")["request"]["parse_us"] == 7


def test_a_fit_is_the_same_over_http(service: Service, run: Run, tmp_path: Path) -> None:
    url = str(service.client.base_url)
    path = tmp_path / "recorded.json"
    path.write_text(json.dumps(RECORDED | {"bandwidths_gbps": [40]}))  # a file's, so not kept
    flags = (str(path), "--fit", "--workers", "1", "--json", "--timeline")
    here = run("parameter-server", *flags, str(tmp_path / "here.json"))
    there = run("parameter-server", *flags, str(tmp_path / "there.json"), "--server", url)
    assert (here.returncode, there.returncode) == (0, 0)
    assert lasting(there.stdout) == lasting(here.stdout)


def test_steps_that_were_not_recorded_fit_nothing(run: Run, steps: str) -> None:
    done = run("parameter-server", steps, "--fit")
    assert done.returncode == 1
    assert "No transfer has start_us and end_us" in done.stderr
