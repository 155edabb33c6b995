"""POST /v1/exports/nccl-tuner, and export --format nccl-tuner."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from app.cli.commands.export import FORMATS
from app.errors import InvalidRequest
from app.reading.requests import checked_plain
from app.routers.tuners import EXAMPLE
from app.schemas.tuners import TunerAnswer, TunerRequest
from app.services.tuners import run as tune
from tests.app.command import Run
from tests.app.service import Json, Service, faults

HEAD = "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong"


def log(program: str, *rows: tuple[int, float]) -> str:
    """What nccl-tests prints of 8 ranks, out of place and in place."""
    devices = [
        f"#  Rank  {i} Group  0 Pid  {i + 7} on n1 device  {i} [0x0{i}] H100" for i in range(8)
    ]
    factor = 2 * 7 / 8 if program == "all_reduce" else 7 / 8
    op = "sum" if program == "all_reduce" else "none"
    lines = []
    for size, time in rows:
        speed = size / time / 1e3
        half = f"{time:.2f} {speed:.6f} {speed * factor:.6f} 0"
        lines.append(f"{size} {size // 4} float {op} -1 {half} {half}")
    return "\n".join([f"# {program}_perf", *devices, HEAD, *lines, ""])


RING = log("all_reduce", (65536, 40.0), (1 << 20, 70.0), (1 << 24, 250.0))
TREE = log("all_reduce", (65536, 20.0), (1 << 20, 90.0), (1 << 24, 900.0))


def body(**fields: Any) -> Json:
    runs = [
        {"algorithm": "Ring", "protocol": "Simple", "channels": 16, "text": RING},
        {"algorithm": "Tree", "protocol": "LL", "channels": 8, "text": TREE},
    ]
    return {"runs": runs, **fields}


def ask(raw: Json) -> TunerAnswer:
    return tune(checked_plain(raw, TunerRequest))


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_logs_become_rows() -> None:
    answer = ask(body(nodes=1))
    (file,) = answer.files
    assert (answer.format, file.name) == ("nccl-tuner", "nccl_tuner.conf")
    assert rows(file.text or "") == [
        "allreduce,0,557055,tree,ll,8,1,8,-1,-1",
        "allreduce,557056,18446744073709551615,ring,simple,16,1,8,-1,-1",
    ]
    assert [row.max_bytes for row in answer.rows] == [557055, 2**64 - 1]


def test_an_example_that_works() -> None:
    assert len(ask(EXAMPLE).rows) == 2


@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        ({"algorithm": "Rings"}, ["/runs/0/algorithm"]),
        ({"text": "no benchmark"}, ["/runs/0/text"]),
        ({"kind": "all_gather"}, ["/runs/0/kind"]),
        ({"channels": 0}, ["/runs/0/channels"]),
        ({"algorithm": "Tree", "protocol": "LL", "channels": 8}, ["/runs"]),
    ],
)
def test_what_is_wrong_is_said_at_its_run(change: Json, pointers: list[str]) -> None:
    raw = body()
    raw["runs"][0] |= change
    with pytest.raises(InvalidRequest) as caught:
        ask(raw)
    assert [fault.pointer for fault in caught.value.faults] == pointers


def test_one_algorithm_alone_says_what_to_measure() -> None:
    raw = body()
    raw["runs"] = raw["runs"][:1]
    with pytest.raises(InvalidRequest, match="NCCL_ALGO=Tree NCCL_PROTO=Simple"):
        ask(raw)


def test_the_command_writes_the_file(run: Run, tmp_path: Path) -> None:
    assert FORMATS[-1] == "nccl-tuner"
    (tmp_path / "ring.log.gz").write_bytes(gzip.compress(RING.encode()))
    (tmp_path / "tree.log").write_text(TREE)
    labelled = [f"ring/simple/16={tmp_path}/ring.log.gz", f"TREE/ll/8={tmp_path}/tree.log"]
    done = run("export", *labelled, "--format", "nccl-tuner", "--nodes", "1")
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout) == rows(ask(body(nodes=1)).files[0].text or "")
    assert "compared at 3 sizes" in done.stderr
    out = tmp_path / "tuner"
    done = run("export", *labelled, "--format", "nccl-tuner", "--out", str(out))
    assert rows((out / "nccl_tuner.conf").read_text())[0].endswith("tree,ll,8,-1,8,-1,-1")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["tree.log"], 2, "ring/simple=FILE"),
        (["ring/simple/x=tree.log"], 2, "x channels"),
        (["ring/simple=tree.log", "--policy", "ddp"], 2, "--policy"),
        (["ring/simple=tree.log"], 1, "NCCL_ALGO=Tree"),
        (["rings/simple=tree.log", "tree/ll=tree.log"], 1, "rings/simple=tree.log: Algorithm"),
        (["ring/ll=tree.log", "tree/ll=tree.log", "--nodes", "9"], 2, "--nodes: Nodes must be"),
        (["ring/ll=tree.log", "--kind", "other=all_gather"], 2, "none of the files"),
    ],
)
def test_the_command_refuses(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tree.log").write_text(TREE)
    done = run("export", *arguments, "--format", "nccl-tuner")
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


def test_flags_of_it_alone(run: Run, tmp_path: Path) -> None:
    done = run("export", str(tmp_path / "no.json"), "--format", "ddp", "--nodes", "2")
    assert done.returncode == 2
    assert "--nodes" in done.stderr


@pytest.mark.live
def test_the_service_writes_it(service: Service) -> None:
    answer = service.client.post("/v1/exports/nccl-tuner", json=body(nodes=1))
    assert (answer.status_code, answer.json()) == (200, ask(body(nodes=1)).model_dump(mode="json"))
    alone = {"runs": body()["runs"][:1]}
    refused = service.client.post("/v1/exports/nccl-tuner", json=alone)
    assert faults(refused) == {("/runs", "not_compared")}
