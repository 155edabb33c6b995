"""Benchmarks of other collectives than all-reduces: kept apart, fitted, refused."""

import json
from pathlib import Path
from typing import Any

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


OTHER_HOST = log("all_gather", host="n2")
REFUSED: list[tuple[Json, list[tuple[str, str]]]] = [
    ({"text": log("reduce")}, [("/text", "not_supported")]),
    ({"text": log("reduce", named=False)}, [("/text", "not_supported")]),
    ({"text": log("all_gather"), "kind": "all_reduce"}, [("/kind", "out_of_range")]),
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
    assert "they differ in machines (n1; n2)" in wrong.stderr


def test_over_the_wire(service: Service) -> None:
    made = service.client.post("/v1/cost-models", json={"texts": [log("all_gather")]})
    assert made.status_code == 201
    model = {"model": made.json()["model"]}
    again = service.client.post("/v1/cost-models", json=model)
    assert again.status_code == 201
    both = service.client.post("/v1/cost-models", json={"text": "x", "texts": ["y"]})
    assert faults(both) == {("/texts", "extra_field")}
