"""Benchmarks of other collectives than all-reduces: kept apart, fitted, refused."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from app.errors import InvalidRequest
from app.schemas.cost_models import CostModelAnswer, CostModelRequest
from app.services.cost_models import run as fit
from tests.app.command import Run
from tests.app.service import Json, Service, faults

#: busbw over algbw, times n / (n - 1); the columns redop and root.
FORMS = {
    "all_reduce": (2.0, "sum", -1),
    "all_gather": (1.0, "none", -1),
    "reduce_scatter": (1.0, "sum", -1),
    "alltoall": (1.0, "none", -1),
    "broadcast": (None, "none", 0),
    "reduce": (None, "sum", 0),
    "gather": (1.0, "none", 0),
}
KIND = {"alltoall": "all_to_all"}


def log(
    program: str, *, named: bool = True, ranks: int = 8, host: str = "n1", slope: float = 1.0
) -> str:
    """What a program prints: 20 us and 10^-5 us a byte, times slope."""
    shares, redop, root = FORMS[program]
    lines = [f"$ ./{program}_perf -b 1M -e 64M -f 4"] if named else []
    lines += ["# nThread 1 nGpus 1 minBytes 1048576", "# Using devices"]
    lines += [
        f"#  Rank {r} Group 0 Pid {100 + r} on {host} device {r} [0000:1c] NVIDIA A100"
        for r in range(ranks)
    ]
    lines.append("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong")
    lines.append("# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)")
    for size in (2**20, 2**22, 2**24, 2**26):
        time = 20 + slope * size * 1e-5
        speed = size / time / 1e3
        bus = speed * (1 if shares is None else shares * (ranks - 1) / ranks)
        parts = ranks if shares == 1.0 else 1
        cells = f"{time:.3f} {speed:.3f} {bus:.3f} 0"
        lines.append(f"{size} {size // 4 // parts} float {redop} {root} {cells} {cells}")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth : 9", ""])


def ask(**fields: Any) -> CostModelAnswer:
    return fit(CostModelRequest.model_validate(fields))


def refused(**fields: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequest) as error:
        ask(**fields)
    return [(fault.pointer, fault.code) for fault in error.value.faults]


@pytest.mark.parametrize("program", ["all_gather", "reduce_scatter", "alltoall", "broadcast"])
def test_each_program_is_a_table_of_its_kind(program: str) -> None:
    answer = ask(text=log(program))
    kind = KIND.get(program, program)
    assert (answer.model.algorithm, answer.model.workers, answer.model.table) == ("table", 8, [])
    assert list(answer.model.tables) == [kind]
    (points,) = answer.model.tables.values()
    for size, time in points:
        assert time == pytest.approx(20 + size * 1e-5, rel=1e-3)
    assert [(each.kind, each.algorithm) for each in answer.fits] == [(kind, "table")]
    assert answer.notes == []


@pytest.mark.parametrize("at_once", [True, False])
def test_kinds_are_kept_apart(*, at_once: bool) -> None:
    logs = [log("all_reduce", slope=2.0), log("all_gather"), log("reduce_scatter", slope=1.5)]
    answer = ask(text="".join(logs)) if at_once else ask(texts=logs)
    assert answer.model.table[-1][1] == pytest.approx(20 + 2**27 * 1e-5, rel=1e-3)
    assert sorted(answer.model.tables) == ["all_gather", "reduce_scatter"]
    assert answer.model.tables["all_gather"][-1][1] == pytest.approx(20 + 2**26 * 1e-5, rel=1e-3)
    assert answer.samples == 3 * 8
    assert answer.model.workers == 8


def test_runs_of_one_kind_are_fitted_as_before() -> None:
    answer = ask(texts=[log("all_reduce"), log("all_reduce")])
    assert answer.model.algorithm == "linear"
    assert answer.samples == 16


def test_a_run_without_a_program_tells_by_its_columns() -> None:
    answer = ask(text=log("reduce_scatter", named=False))
    assert list(answer.model.tables) == ["reduce_scatter"]
    assert answer.notes == [
        "No program is named: taken as reduce_scatter, by the columns redop and root and busbw / "
        "algbw."
    ]
    assert refused(text=log("all_gather", named=False)) == [("/text", "unknown_kind")]
    told = ask(text=log("all_gather", named=False), kind="all_gather")
    assert list(told.model.tables) == ["all_gather"]


def test_samples_of_a_kind() -> None:
    samples = [(2**20, 30.0), (2**24, 200.0)]
    assert list(ask(samples=samples, kind="all_gather").model.tables) == ["all_gather"]
    csv = "size(B),time(us)\n1048576,30\n16777216,200\n"
    assert list(ask(text=csv, kind="broadcast").model.tables) == ["broadcast"]
    assert "The collective is not named: taken as all_reduce." in ask(text=csv).notes


def off(text: str) -> str:
    """The same with an algbw in place that is not size over time."""
    lines = []
    for line in text.split("\n"):
        cells = line.split()
        if cells and cells[0].isdigit():
            cells[10] = f"{float(cells[10]) * 1.05:.3f}"
        lines.append(" ".join(cells))
    return "\n".join(lines)


def unnamed(program: str) -> str:
    return log(program, named=False)


def test_kind_is_of_those_that_do_not_say_theirs() -> None:
    logs = [unnamed(name) for name in ("all_reduce", "reduce_scatter", "all_gather")]
    assert refused(texts=logs) == [("/texts/2", "unknown_kind")]
    answer = ask(texts=logs, kind="all_gather")
    assert (len(answer.model.table), sorted(answer.model.tables)) == (
        4,
        ["all_gather", "reduce_scatter"],
    )
    same = ask(texts=logs, kinds=[None, None, "all_gather"])
    assert same.model == answer.model
    both = [unnamed("all_gather"), unnamed("alltoall")]
    apart = ask(texts=both, kind="all_gather", kinds=[None, "all_to_all"])
    assert sorted(apart.model.tables) == ["all_gather", "all_to_all"]


def test_no_operation_is_no_all_reduce() -> None:
    assert refused(text=off(unnamed("all_gather"))) == [("/text", "unknown_kind")]
    told = ask(text=off(unnamed("all_gather")), kind="all_gather")
    assert list(told.model.tables) == ["all_gather"]
    assert "busbw / algbw differs between rows, so it tells nothing of the ranks." in told.notes
    # one with an operation is never merged with it
    both = ask(texts=[off(unnamed(p)) for p in ("all_gather", "reduce_scatter")], kind="all_gather")
    assert sorted(both.model.tables) == ["all_gather", "reduce_scatter"]
    cells = "30.486 34.395 60.192 0"
    torn = f"{unnamed('reduce_scatter')}1048576 262144 float sum -1 {cells} {cells}\n"
    assert refused(texts=[unnamed("all_gather"), torn], kind="all_gather") == [
        ("/texts/1", "out_of_range")
    ]
    named = log("all_gather").replace("float none", "float sum")
    assert refused(texts=[log("all_gather"), named]) == [("/texts/1", "out_of_range")]


OTHER_HOST = log("all_gather", host="n2")
REFUSED: list[tuple[Json, list[tuple[str, str]]]] = [
    ({"text": log("reduce")}, [("/text", "not_supported")]),
    ({"text": log("reduce", named=False)}, [("/text", "not_supported")]),
    ({"text": log("all_gather"), "kind": "all_reduce"}, [("/kind", "out_of_range")]),
    ({"text": unnamed("all_gather"), "kind": "all_reduce"}, [("/text", "out_of_range")]),
    ({"text": unnamed("gather")}, [("/text", "not_supported")]),
    ({"texts": [log("all_gather")], "kinds": ["broadcast"]}, [("/texts/0", "out_of_range")]),
    ({"texts": [log("all_gather")], "kinds": [None, None]}, [("/kinds", "out_of_range")]),
    ({"text": log("all_gather"), "kinds": ["all_gather"]}, [("/kinds", "extra_field")]),
    (
        {"texts": [unnamed("all_gather")], "kinds": ["all_gather"], "kind": "broadcast"},
        [("/kind", "out_of_range")],
    ),
    ({"text": log("all_gather"), "fit": "linear"}, [("/fit", "out_of_range")]),
    ({"texts": [log("all_reduce"), OTHER_HOST]}, [("/texts", "mixed_clusters")]),
    ({"texts": [log("all_reduce"), log("all_gather", ranks=4)]}, [("/texts", "mixed_clusters")]),
    ({"text": log("all_reduce") + log("all_reduce", host="n3")}, [("/text", "mixed_clusters")]),
    ({"texts": ["nothing"]}, [("/texts/0", "wrong_format")]),
]


@pytest.mark.parametrize(("fields", "expected"), REFUSED)
def test_refused(fields: Json, expected: list[tuple[str, str]]) -> None:
    assert refused(**fields) == expected


def test_clusters_may_be_mixed_when_told_so() -> None:
    answer = ask(texts=[log("all_reduce"), OTHER_HOST], mixed=True)
    assert (answer.model.workers, list(answer.model.tables)) == (8, ["all_gather"])
    several = ask(texts=[log("all_reduce"), log("all_reduce", ranks=4)], mixed=True)
    assert several.model.workers is None


def test_the_command_takes_several_files_and_the_model_plans_fsdp(tmp_path: Path, run: Run) -> None:
    names = []
    for program in ("all_reduce", "all_gather", "reduce_scatter"):
        path = tmp_path / f"{program}.log"
        path.write_text(log(program))
        names.append(str(path))
    done = run("calibrate", *names)
    assert (done.returncode, done.stderr) == (0, "")
    assert "all_gather: 4 points, 1 MiB to 64 MiB, linear between them" in done.stdout
    model = json.loads(run("calibrate", *names, "--json").stdout)["model"]
    request = json.loads(run("example", "fsdp_llama_7b").stdout)
    request["cluster"]["channels"]["nvlink"] = {"workers": 8, "cost_model": model}
    given = ("--policy", "wfbp", "--json")
    simulated = run("simulate", "-", *given, stdin=json.dumps(request))
    assert (simulated.returncode, simulated.stderr) == (0, "")
    mixed = tmp_path / "other.log"
    mixed.write_text(OTHER_HOST)
    wrong = run("calibrate", names[0], str(mixed))
    assert wrong.returncode != 0
    assert wrong.stderr.startswith(f"interlace: {names[0]}, {mixed}: The runs are of several")
    assert "they differ in machines (n1; n2)" in wrong.stderr
    assert "say with --mixed that they are one" in wrong.stderr
    assert run("calibrate", names[0], str(mixed), "--mixed").returncode == 0


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, program in (("ar", "all_reduce"), ("ag", "all_gather"), ("a2a", "alltoall")):
        (tmp_path / f"{name}.log").write_text(unnamed(program))
    (tmp_path / "ar.log.gz").write_bytes(gzip.compress(unnamed("all_reduce").encode()))
    with ZipFile(tmp_path / "ar.zip", "w") as archive:
        archive.writestr("ar.log", unnamed("all_reduce"))
    (tmp_path / "cut.zip").write_bytes((tmp_path / "ar.zip").read_bytes()[:-30])
    (tmp_path / "none.tar").write_bytes(bytes(10_240))
    with ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.writestr("notes.txt", "what ran")
    with ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.writestr("README", "Two runs, on eight workers.")
        archive.writestr("logo.png", b"\x89PNG\0")
        archive.writestr("ar.log", unnamed("all_reduce"))
        archive.writestr("ag.log", unnamed("all_gather"))
    (tmp_path / "trace.json.gz").write_bytes(
        gzip.compress(b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2}]}')
    )
    (tmp_path / "graph.json").write_text('{"ops": []}')
    (tmp_path / "odd.log").write_bytes(b"\xff\xfe")
    (tmp_path / "t1.csv").write_text("model,workers,time_us\nvgg16,4,100\n")
    (tmp_path / "t2.csv").write_text("model,workers,policy,time_us\nvgg16,4,wfbp,100\n")
    return tmp_path


OPEN = "The benchmark does not say its collective; it is one of all_gather, all_to_all. Say which"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("ar.log ag.log", [f"ag.log: {OPEN} by --kind."]),
        ("ar.log ag.log a2a.log", [f"{name}.log: {OPEN} by --kind." for name in ("ag", "a2a")]),
        ("ag.log", [f"ag.log: {OPEN} by --kind."]),
        ("ag.log --kind hypercube", ["--kind: Kind must be one of all_reduce, all_gather, red"]),
        ("ag.log --kind ag.log=hypercube", ["--kind: "]),
        ("ar.log --kind all_gather", ["--kind: All benchmarks say their collective: all_reduce"]),
        (
            "ar.log --kind ar.log=all_gather",
            ["ar.log: The benchmark is all_reduce, not all_gather as --kind says."],
        ),
        ("ag.log --kind b.log=all_gather", ["Invalid value for --kind: b.log is none of the fil"]),
        ("ag.log --kind a --kind b", ["Invalid value for --kind: two are given for all files"]),
        (
            "ag.log --kind ag.log=a --kind ag.log=b",
            ["Invalid value for --kind: two are given for ag.log"],
        ),
        ("ar.log cut.zip", ["cut.zip: The zip archive cannot be read: it has no directory"]),
        ("ar.log none.tar", ["none.tar: The file has nothing but zeros: an empty tar archive"]),
        ("notes.zip", ["notes.zip/notes.txt: Not a log of launches: nothing of nccl-tests"]),
        ("both.zip", ["both.zip/ag.log: The benchmark does not say its collective; it is one"]),
        ("trace.json.gz", ["trace.json.gz: The file is a trace (kineto): 'interlace import' read"]),
        (
            "ar.log graph.json odd.log",
            [
                "graph.json: The file is JSON of no known log",
                "odd.log: The file is not text: bad byte at 0.",
            ],
        ),
        ("t1.csv", ["t1.csv: Line 1: neither a header with a size"]),
        ("ar.log t2.csv", ["Invalid value for FILE: iteration times stand in one file"]),
        ("t2.csv --kind all_gather", ["Invalid value for --kind: does not count with iteration"]),
    ],
)
@pytest.mark.usefixtures("files")
def test_the_command_names_files_and_flags(arguments: str, says: list[str], run: Run) -> None:
    done = run("calibrate", *arguments.split())
    assert done.returncode in {1, 2}
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == len(says)
    for line, beginning in zip(lines, says, strict=True):
        assert line.startswith(f"interlace: {beginning}")
        assert "hypercube" not in line or "hypercube" in arguments
        assert "`" not in line
        assert "/text" not in line


def test_the_command_takes_kinds_by_file_packed_and_behind_a_launcher(
    files: Path, run: Run
) -> None:
    kinds = ("--kind", "all_gather", "--kind", "a2a.log=all_to_all")
    done = run("calibrate", "ar.log.gz", "ag.log", "a2a.log", *kinds, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["name"] == "ar"
    assert sorted(answer["model"]["tables"]) == ["all_gather", "all_to_all"]
    assert answer["model"] == ask(
        texts=[unnamed(program) for program in ("all_reduce", "all_gather", "alltoall")],
        kinds=[None, "all_gather", "all_to_all"],
        name="ar",
    ).model.model_dump(mode="json")
    text = "".join(f"[1,0]<stdout>:{line}\n" for line in log("all_reduce").splitlines())
    (files / "launched.log").write_text(text)
    assert run("calibrate", "launched.log").returncode == 0


def test_the_command_takes_archives_and_what_was_cut_off(files: Path, run: Run) -> None:
    """As it takes the files in them; what is left out is said."""
    kinds = ("--kind", "all_gather", "--json")
    done = run("calibrate", "both.zip", *kinds)
    assert (done.returncode, done.stderr) == (0, "")
    apart = run("calibrate", "ar.log", "ag.log", "--kind", "ag.log=all_gather", "--json")
    answer, alone = json.loads(done.stdout), json.loads(apart.stdout)
    assert answer["notes"] == [
        "both.zip/README is no log of launches: not read.",
        "both.zip/logo.png is no log of launches: not read.",
        *alone["notes"],
    ]
    assert answer["model"]["tables"] == alone["model"]["tables"]
    lines = unnamed("all_reduce").splitlines(keepends=True)
    rows = [i for i, line in enumerate(lines) if line.split()[:1] and line.split()[0].isdigit()]
    whole = "".join(lines[: rows[-1]])
    (files / "whole.log").write_text(whole)
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress((whole + lines[rows[-1]][:-9]).encode())
    (files / "cut.log.gz").write_bytes(packed + packer.flush(zlib.Z_FULL_FLUSH))
    cut = json.loads(run("calibrate", "cut.log.gz", "--json").stdout)
    alone = json.loads(run("calibrate", "whole.log", "--json").stdout)
    assert cut["notes"] == [
        "cut.log.gz: The gzip file ends in the middle: what could be unpacked is read.",
        "cut.log.gz was cut off in its last line, which is left out.",
        *alone["notes"],
    ]
    assert {**cut["model"], "name": ""} == {**alone["model"], "name": ""}
    (files / "vgg.json").write_text(run("example", "vgg16").stdout)
    planned = run(
        "plan", "vgg.json", "--cost-model", "cut.log.gz", "--workers", "8", "--time-limit", "1"
    )
    assert "cut.log.gz was cut off in its last line" in planned.stderr


def test_a_cost_model_of_other_kinds_or_workers_says_what_to_run(files: Path, run: Run) -> None:
    (files / "vgg.json").write_text(run("example", "vgg16").stdout)
    gathers = run("calibrate", "ag.log", "--kind", "all_gather", "--json").stdout
    (files / "gathers.json").write_text(gathers)
    missing = run("plan", "vgg.json", "--cost-model", "gathers.json")
    assert missing.stderr == (
        "interlace: --cost-model: Channel 'network': all_reduce was not measured: the cost has no "
        "table of it. Measure it, with all_reduce_perf of nccl-tests, and fit all benchmarks at "
        "once, or give points of it.\n"
    )
    (files / "sums.json").write_text(run("calibrate", "ar.log", "--json").stdout)
    planned = ("plan", "vgg.json", "--cost-model", "sums.json", "--workers", "16")
    assert run(*planned).stderr == (
        "interlace: --workers: Channel 'network': The cost was measured with 8 workers, not 16; "
        "--extrapolate scales it as a ring would.\n"
    )
    assert run(*planned, "--extrapolate", "--json").returncode == 0


def test_over_the_wire(service: Service) -> None:
    made = service.client.post("/v1/cost-models", json={"texts": [log("all_gather")]})
    assert made.status_code == 201
    model = {"model": made.json()["model"]}
    again = service.client.post("/v1/cost-models", json=model)
    assert again.status_code == 201
    both = service.client.post("/v1/cost-models", json={"text": "x", "texts": ["y"]})
    assert faults(both) == {("/texts", "extra_field")}
