"""DLC traces over HTTP and by the command: the report, and a graph to work with."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.reading import traces
from app.reading.traces import read_files
from solver.errors import InvalidTrace
from solver.traces import TraceOptions
from tests.app.command import Run
from tests.app.service import ROOT, Service, faults
from tests.dlc_oracle import text_of

PATH = "/v1/graphs"
DATA = ROOT / "tests" / "data"
NAMES = ("w0", "w1", "s0")
LENET = "sketchdlc/CynthiaProtector+SketchDLC/worker_0_lenet5_full.txt"


def posted(service: Service, **query: Any) -> Any:
    files = [("files", (name, (DATA / f"dlc_{name}.txt").read_bytes())) for name in NAMES]
    return service.client.post(PATH, files=files, params=query)


def test_the_report_of_a_training(service: Service) -> None:
    answer = posted(service, format="dlc")
    assert answer.status_code == 201
    report = answer.json()["report"]
    assert posted(service).json() == answer.json()  # detected
    dlc = report["dlc"]
    assert (report["format"], dlc["nodes"], dlc["is_synchronous"]) == ("dlc", [*NAMES], True)
    assert dlc["iterations"][1] == {
        "node": "w0", "iteration": 1, "start_us": 1800, "phase_1_us": 900, "phase_2_us": 150,
        "phase_3_us": 560, "computation_us": 1050, "wait_us": 155, "overlap_ratio": 150 / 1460,
    }  # fmt: skip
    update = dlc["overheads"]["update"]
    assert [update["overall"][f"{name}_us"] for name in ("minimum", "mean", "maximum")] == [
        40,
        115.0,
        200,
    ]
    assert [row["push_send_bytes"] for row in dlc["volume"]] == [500, 500, 1000]
    assert [row["push_send_bytes"] for row in dlc["message_lengths"]] == [100, 400]
    stored = service.client.get(f"{PATH}/{answer.json()['id']}").json()
    assert stored["report"] == report


def test_other_formats_have_no_such_report(service: Service) -> None:
    line = "node1 -- A -- forward_compute_time=1, backward_compute_time=1, parameter_size=4"
    answer = service.client.post(PATH, content=line).json()
    assert (answer["report"]["dlc"], answer["steps"]) == (None, None)


def test_the_graph_is_planned_simulated_and_predicted(service: Service) -> None:
    found = posted(service).json()
    assert found["cluster"]["workers"] == 2
    for path, more in (
        ("/v1/plans", {}),
        ("/v1/simulations", {"policy": "wfbp"}),
        ("/v1/predictions/scaling", {"workers": [2, 4]}),
    ):
        body = {"graph_id": found["id"], "cluster": found["cluster"], **more}
        answer = service.post(body, path)
        assert answer.status_code in {200, 201}, answer.text
    [first, *_] = answer.json()["rows"]
    assert first["iteration_time_us"] > 950 + 200  # what the slower worker computes


def test_the_steps_are_predicted(service: Service) -> None:
    answer = posted(service).json()
    assert len(answer["steps"]) == 4
    assert service.client.get(f"{PATH}/{answer['id']}").json()["steps"] == answer["steps"]
    asked = {"batch_size": 8, "bandwidths_gbps": [1], "workers": [1], "simulated_steps": 40}
    body = {"steps": answer["steps"], "dropped_steps": 4, **asked}
    found = service.post(body, "/v1/predictions/parameter-server").json()
    assert (found["state"], found["profiled_steps"]) == ("succeeded", 4)
    one = posted(service, step=1, rank=0).json()
    assert one["steps"] == [answer["steps"][1]]
    assert any("that w0 recorded as a whole" in line for line in one["report"]["assumed"])


def test_an_import_says_why_there_are_no_steps(service: Service) -> None:
    rows = [
        (i, server, stage, server, 1_000 * (i + 1) + 100 * stage + server, 10)
        for i in (-1, 0)
        for server in range(17)
        for stage in range(4)
    ]
    many = service.client.post(PATH, content=text_of("w0", 1, 17, rows).encode())
    assert many.status_code == 201
    assert many.json()["graph"]
    assert many.json()["steps"] is None
    [why] = many.json()["report"]["warnings"]
    assert why.startswith(
        "There are no steps for parameter servers: At most 16 servers, got 17: 's0', 's1', 's2'"
    )
    server = service.client.post(PATH, content=(DATA / "dlc_s0.txt").read_bytes())
    assert (server.status_code, server.json()["graph"], server.json()["steps"]) == (200, None, None)
    assert server.json()["report"]["warnings"][-1].startswith("There are no steps")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"hello\n", {("/1", "wrong_format")}),
        (b"\n", {("", "wrong_format")}),
        (b"\xff\xfe\x00", {("/1", "wrong_format")}),
    ],
)
def test_what_is_refused(service: Service, content: bytes, expected: set[tuple[str, str]]) -> None:
    answer = service.client.post(PATH, content=content, params={"format": "dlc"})
    assert answer.status_code == 422
    assert faults(answer) == expected


def test_too_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    content = (DATA / "dlc_w0.txt").read_bytes()
    most = (content.count(b"\n"), (b"\n",))
    monkeypatch.setitem(traces._MOST, "rows", most)
    assert read_files([content], "dlc", TraceOptions()).graph
    with pytest.raises(InvalidTrace) as caught:
        read_files([content + b"\n"], "dlc", TraceOptions())
    assert [fault.code for fault in caught.value.faults] == ["too_large"]


def test_many_iterations_are_shown_by_their_mean(run: Run, tmp_path: Path) -> None:
    """The same iteration again and again, 2,000 us apart."""
    lines = (DATA / "dlc_w1.txt").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    for i in range(1, 30):
        for row in rows:
            key, dash, number = (row + 7 * [""])[6].removesuffix("-s0").partition("-")
            if dash and number in {"6", "7", "8", "9"}:
                again = [*row]
                again[6] = f"{key}-{int(number) + 4 * i}-s0"
                again[10] = str(int(row[10]) + 2000 * i)
                lines.append("\t".join(again))
    (tmp_path / "long.txt").write_text("\n".join(lines))
    shown = run("dlc", str(tmp_path / "long.txt")).stdout
    assert "31, mean" in shown
    answer = json.loads(run("dlc", str(tmp_path / "long.txt"), "--json").stdout)
    assert len(answer["report"]["dlc"]["iterations"]) == 31


def test_the_papers_worker(run: Run, shared: Path) -> None:
    shown = run("dlc", str(shared / LENET)).stdout
    assert "w0              0   67,434    6,656   24,087       74,090  12,748   7.27 %" in shown


def test_the_command_refuses_other_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "prose.txt").write_text("hello\n")
    done = run("dlc", str(tmp_path / "prose.txt"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "Line 1: neither a message nor a set-up row." in done.stderr


def test_a_graph_that_breaks_a_rule_leaves_the_report(
    tmp_path: Path, run: Run, service: Service
) -> None:
    empty = [(-1, 0, 3, 0, 5, 0), (0, 0, 0, 0, 9, 0), (0, 0, 3, 0, 11, 0)]
    file = tmp_path / "w0.txt"
    file.write_text(text_of("w0", 1, 1, empty))
    done = run("dlc", str(file))
    assert done.returncode == 0, done.stderr
    assert "Recorded by w0: " in done.stdout
    assert "  warning: There is no graph: " in done.stdout
    refused = run("plan", str(file))
    assert refused.returncode == 1
    assert "No iteration can be planned. There is no graph: " in refused.stderr
    answer = service.client.post(PATH, content=file.read_bytes()).json()
    assert (answer["id"], answer["graph"]) == (None, None)
    assert answer["report"]["dlc"]["nodes"] == ["w0"]


def test_a_graph_over_the_limits_leaves_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.reading.traces.MAX_NAME_CHARACTERS", 3)
    contents = [(DATA / f"dlc_{name}.txt").read_bytes() for name in NAMES]
    trace = read_files(contents, "dlc", TraceOptions())
    assert trace.graph is None
    assert "a name has at most 3 characters" in trace.report.warnings[-1]
    assert trace.report.dlc is not None
