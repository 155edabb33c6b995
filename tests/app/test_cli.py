"""The command, run as a user runs it."""

import json
import socket
from pathlib import Path

import pytest

from app import VERSION
from app.cli.rendering.plans import render
from app.schemas.lists import JobOut
from app.schemas.plans import BoundOut, PlanAnswer
from solver.bounds.kinds import BOUND_KINDS
from tests.app.command import Run, interlace
from tests.app.service import Service, two_layers

PROFILE = """\
node1 -- Input0 -- forward_compute_time=0.000, backward_compute_time=0.000, \
activation_size=0.0, parameter_size=0.000
node2 -- Conv2d(3, 64) -- forward_compute_time=1.000, backward_compute_time=2.000, \
activation_size=100.0, parameter_size=4000.000
node3 -- Linear(64, 10) -- forward_compute_time=0.500, backward_compute_time=1.000, \
activation_size=100.0, parameter_size=8000.000
\tnode1 -- node2
\tnode2 -- node3
"""


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(two_layers(fusion="none", slot_us=50)))
    return file


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(two_layers()["graph"]))
    return file


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"interlace {VERSION}\n"


@pytest.mark.parametrize("command", ["", "serve", "plan", "demo"])
def test_help_has_examples(tmp_path: Path, command: str, run: Run) -> None:
    shown = run(*command.split(), "--help")
    assert shown.returncode == 0
    assert "\n    interlace " in shown.stdout  # on a line of its own


def test_json_is_the_service_answer(request_file: Path, service: Service, run: Run) -> None:
    done = run("plan", str(request_file), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    printed = json.loads(done.stdout)
    served = service.post(json.loads(request_file.read_text())).json()
    assert set(served) - set(printed) == set(JobOut.model_fields)
    del printed["runtime_s"]
    assert printed == {field: served[field] for field in printed}


def test_answer_for_a_reader(tmp_path: Path, request_file: Path, run: Run) -> None:
    shown = run("plan", str(request_file)).stdout
    for figure in ("8.750 ms", "8.400 ms", "1.042x", "0.00 %", "2 buckets"):
        assert figure in shown


@pytest.mark.live
def test_standard_input(tmp_path: Path, graph_file: Path) -> None:
    done = interlace(tmp_path, "plan", "-", "--json", stdin=graph_file.read_text())
    assert json.loads(done.stdout)["request"]["cluster"]["startup_us"] == 50


def test_flags_win_over_the_file(tmp_path: Path, request_file: Path, run: Run) -> None:
    flags = ("--workers", "4", "--fusion", "maxmin", "--baseline", "wfbp", "--json")
    request = json.loads(run("plan", str(request_file), *flags).stdout)["request"]
    assert request["cluster"]["workers"] == 4
    assert request["cluster"]["bandwidth_gbps"] == 10  # the file's
    assert request["options"]["fusion"] == "maxmin"
    assert request["options"]["slot_us"] == 50  # the file's
    assert request["options"]["baselines"] == [{"policy": "wfbp", "barrier": False}]


def test_baselines_with_parameters(tmp_path: Path, request_file: Path, run: Run) -> None:
    flags = (
        "--baseline=ddp:bucket_cap_mb=0.5,barrier=true",
        "--baseline=bytescheduler:credit_bytes=auto",
        "--baseline=tictac",
    )
    answer = json.loads(run("plan", str(request_file), *flags, "--json").stdout)
    assert answer["request"]["options"]["baselines"] == [
        {"policy": "ddp", "barrier": True, "bucket_cap_mb": 0.5, "first_bucket_mb": None},
        {
            "policy": "bytescheduler",
            "barrier": False,
            "partition_bytes": 4_000_000,
            "credit_bytes": "auto",
            "cycle_time_us": None,
            "tensor_time_us": 0,
        },
        {"policy": "tictac", "barrier": False},
    ]
    shown = run("plan", str(request_file), *flags).stdout
    titles = [
        "PyTorch DDP, bucket_cap_mb=0.5, first_bucket_mb=0.5, barrier",
        "Slices by priority with credit (ByteScheduler), credit_bytes=4000000",
    ]
    for title in (*titles, "(TicTac)", "headroom 4.17 %"):
        assert title in shown


def test_barrier(request_file: Path, run: Run) -> None:
    shown = run("plan", str(request_file), "--barrier", "--baseline", "ddp").stdout
    assert "with a barrier" in shown
    assert "PyTorch DDP  " in shown  # as all do
    assert "optimal" in shown


def test_an_iteration_of_no_time_has_no_comparison(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "graph.json"
    b = {"id": "b", "kind": "compute", "duration_us": 0}
    g = {"id": "g", "kind": "all_reduce", "bytes": 1}
    file.write_text(json.dumps({"ops": [b, g]}))
    shown = run("plan", str(file), "--workers", "1").stdout
    assert "\n  FIFO, each tensor alone (WFBP)                     0.000 ms\n" in shown


def test_the_page_of_a_plan_says_the_gain_as_the_answer_does(run: Run) -> None:
    """One sentence, made by the solver: what the command prints is what HTTP answers."""
    request = run("example", "t5_small").stdout
    told = json.loads(run("plan", "-", "--json", stdin=request).stdout)["headline"]["sentence"]
    shown = " ".join(run("plan", "-", stdin=request).stdout.split())
    assert f"Gain over what you run: {told}" in shown
    assert "FIFO, each tensor alone (WFBP)" in shown
    assert "today" not in shown


def test_pipedream_profile(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "graph.txt"
    file.write_text(PROFILE)
    done = run("plan", str(file), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["compute_time_us"] == pytest.approx(4500)
    assert sum(bucket["bytes"] for bucket in answer["buckets"]) == 12_000
    report = answer["report"]
    assert report["collectives"] == {"all_reduce": {"count": 2, "bytes": 12_000}}
    assert [report[field] for field in ("format", "steps", "ops")] == ["pipedream", 1, 6]
    assert "Input0" in report["dropped"][0]
    shown = " ".join(run("plan", str(file)).stdout.split())
    for line in (*report["dropped"], *report["assumed"]):
        assert line in shown
    assert "Read from a pipedream file: 6 ops, 2 collectives, 0.012 MB" in shown


@pytest.mark.parametrize("content", ["request", "profile"])
def test_byte_order_mark(tmp_path: Path, run: Run, content: str) -> None:
    file = tmp_path / "input"
    text = json.dumps(two_layers()) if content == "request" else PROFILE
    file.write_text(text, encoding="utf-8-sig")
    done = run("plan", str(file))
    assert (done.returncode, done.stderr) == (0, "")


def test_time_limit(request_file: Path, run: Run) -> None:
    flags = ("--fusion", "joint", "--time-limit", "0.5", "--json")
    options = json.loads(run("plan", str(request_file), *flags).stdout)["request"]["options"]
    assert (options["fusion"], options["time_limit_s"]) == ("joint", 0.5)


def test_bound_is_explained(request_file: Path, run: Run) -> None:
    shown = run("plan", str(request_file)).stdout
    assert "2 tensors between their releases and the compute after each" in shown
    shown = run("plan", str(request_file), "--workers", "1").stdout
    assert "compute alone takes that long" in shown


def test_each_kind_of_bound_is_explained(request_file: Path, run: Run) -> None:
    answer = PlanAnswer.model_validate_json(run("plan", str(request_file), "--json").stdout)
    lines = set()
    for kind in BOUND_KINDS:
        bound = BoundOut.model_validate(
            {"kind": kind, "tensors": ["g2"], "release_us": 800, "tail_us": 450}
        )
        page = render(answer.model_copy(update={"bound": bound}), "x").splitlines()
        lines |= {line for line in page if line.startswith("  lower bound")}
    assert len(lines) == len(BOUND_KINDS)


@pytest.mark.parametrize(
    ("content", "flags", "code", "lines"),
    [
        ("{", [], 1, ["FILE: The body is not JSON"]),
        ("[]", [], 1, ["FILE: The body must be an object"]),
        ('{"ops": []}', [], 1, ["FILE /graph/ops: The graph has no", "FILE /graph/ops: The graph"]),
        ("this is no profile", [], 1, ["FILE"]),
        ("", [], 1, ["FILE"]),
        ("GRAPH", ["--workers", "0"], 2, ["--workers: Cluster: workers must be 1 to 1,000,000"]),
        ("GRAPH", ["--slot-us", "0.1"], 2, ["--slot-us: "]),  # only the solver can tell
        ("GRAPH", ["--slot-us", "0"], 2, ["--slot-us: "]),  # 0 is not left out
        ("GRAPH", ["--time-limit", "0"], 2, ["--time-limit: Options: time_limit_s must be more"]),
        ("GRAPH", ["--fusion", "x", "--baseline", "y"], 2, ["--fusion: ", "--baseline: "]),
        ("GRAPH", ["--baseline", "ddp:bucket_cap_mb=0"], 2, ["--baseline: Options: baselines/0/b"]),
        ("GRAPH", ["--baseline", "p3:slice_bytes=4"], 2, ["--baseline: p3: slice_bytes 4 makes"]),
        ("GRAPH", ["--baseline", "ddp:bucket_cap_mb"], 2, ["Invalid value for --baseline"]),
        ("GRAPH", ["--baseline", "ddp:policy=p3"], 2, ["Invalid value for --baseline"]),
        ("GRAPH", ["--workers", "x"], 2, ["Invalid value for '--workers'"]),
        ("GRAPH", ["--nonsense"], 2, ["No such option"]),
    ],
)
def test_one_line_a_fault(
    tmp_path: Path,
    graph_file: Path,
    content: str,
    flags: list[str],
    code: int,
    lines: list[str],
    run: Run,
) -> None:
    file = tmp_path / "input"
    file.write_text(graph_file.read_text() if content == "GRAPH" else content)
    done = run("plan", str(file), *flags)
    assert done.returncode == code
    assert done.stdout == ""
    found = done.stderr.splitlines()
    assert len(found) == len(lines)
    for line, start in zip(found, lines, strict=True):
        assert line.startswith(f"interlace: {start.replace('FILE', str(file))}")


@pytest.mark.parametrize(
    ("arguments", "settings", "code", "part"),
    [
        (["plan", "/no/such/file"], {}, 1, "/no/such/file: No such file"),
        (["plan", "vgg16"], {}, 1, "for the example write: interlace example vgg16 > graph.json"),
        (["plan"], {}, 2, "Missing argument"),
        (["nonsense"], {}, 2, "No such command"),
        (["serve", "--host", "0.0.0.0"], {}, 2, "--allow-remote"),  # everyone
        (["serve", "--host", "::"], {}, 2, "--allow-remote"),  # everyone, by IPv6
        (["serve", "--host", "192.0.2.1"], {}, 2, "--allow-remote"),  # not ours
        (["serve", "--host", "192.0.2.1", "--allow-remote"], {}, 1, "192.0.2.1"),
        (["serve", "--host", "no such host"], {}, 1, "unknown"),
        (["serve", "--port", "70000"], {}, 2, "--port"),
        (["serve"], {"INTERLACE_MAX_BODY_BYTES": "x"}, 2, "INTERLACE_MAX_BODY_BYTES"),
        (["serve"], {"INTERLACE_DATABASE_URL": "x"}, 2, "INTERLACE_DATABASE_URL"),
        (["serve"], {"INTERLACE_DATABASE_URL": "no://x"}, 2, "INTERLACE_DATABASE_URL"),
        *(
            (["serve"], {"INTERLACE_DATABASE_URL": url}, 2, "INTERLACE_DATABASE_URL: An in-memory")
            for url in (
                "sqlite://",
                "sqlite:///:memory:",
                "sqlite:///file::memory:?uri=true",
                "sqlite:///file:x?mode=memory&uri=true",
            )
        ),
    ],
)
@pytest.mark.live  # it looks an address up
def test_one_line_errors(
    run: Run, arguments: list[str], settings: dict[str, str], code: int, part: str
) -> None:
    done = run(*arguments, **settings)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.count("\n") == 1
    assert part in done.stderr


@pytest.mark.live
def test_port_in_use(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("serve", "--port", port)
    assert done.returncode == 1
    assert done.stderr == f"interlace: Port {port} on 127.0.0.1 is in use.\n"


@pytest.mark.live
def test_demo(tmp_path: Path) -> None:
    done = interlace(tmp_path, "demo", TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("FIFO", "this plan", "lower bound", "gap", "buckets", "docs", "Perfetto"):
        assert part.lower() in done.stdout.lower()
    assert not list(tmp_path.glob("interlace-demo-*")), "something is left behind"


def test_many_faults_do_not_flood(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "graph.txt"
    file.write_text(PROFILE + "this is no line of a profile\n" * 500)
    lines = run("plan", str(file)).stderr.splitlines()
    assert len(lines) == 11
    assert lines[-1].endswith("490 more faults.")


def test_out_is_checked_before_the_work_and_written_before_the_page(
    tmp_path: Path, request_file: Path, run: Run
) -> None:
    before = request_file.read_bytes()
    for flag, out, why in (
        ("--out", request_file, "is read: it would be lost"),
        ("--out", tmp_path, "is a folder"),
        ("--html", tmp_path / "none" / "plan.html", "there is no folder"),
    ):
        done = run("plan", str(request_file), flag, str(out))
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
        assert flag in done.stderr
    assert request_file.read_bytes() == before
    out = tmp_path / "plan.json"
    run("plan", str(request_file), "--out", str(out))
    first = json.loads(out.read_text())
    run("plan", str(request_file), "--out", str(out))  # over what was there
    assert json.loads(out.read_text()).keys() == first.keys()
    assert not list(tmp_path.glob(".*.part"))
