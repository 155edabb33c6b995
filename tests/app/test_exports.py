"""GET /v1/plans/{id}/export and the commands import and export."""

import base64
import csv
import io
import json
from pathlib import Path

import pytest

from app.services.examples import TWO_LAYERS
from solver.exports import EXPORTS
from tests.app.command import Run
from tests.app.service import Json, Service, faults, two_layers

SIMULATED = {"graph": TWO_LAYERS["graph"], "cluster": TWO_LAYERS["cluster"]}


@pytest.fixture(scope="module")
def plan(service: Service) -> Json:
    found: Json = service.post(two_layers(baselines=[])).json()
    return found


@pytest.fixture(scope="module")
def sharded(service: Service) -> Json:
    request = service.client.get("/v1/examples/fsdp_llama_7b").json()
    found: Json = service.post({**request, "options": {"fusion": "none"}}).json()
    return found


def test_sharded_plans_are_for_fsdp(service: Service, plan: Json, sharded: Json) -> None:
    url = f"/v1/plans/{sharded['id']}/export"
    found = service.client.get(url, params={"format": "fsdp"}).json()
    assert [file["name"] for file in found["files"]] == ["fsdp_units.py", "units.json"]
    assert found["plan_time_us"] == pytest.approx(sharded["iteration_time_us"])
    for form in ("ddp", "horovod", "deepspeed"):
        refused = service.client.get(url, params={"format": form})
        assert faults(refused) == {("/buckets", "not_data_parallel")}
    other = service.client.get(f"/v1/plans/{plan['id']}/export", params={"format": "fsdp"})
    assert faults(other) == {("/graph/ops", "not_sharded")}


@pytest.mark.parametrize("form", [form for form in EXPORTS if form != "fsdp"])
def test_every_format(service: Service, plan: Json, form: str) -> None:
    url = f"/v1/plans/{plan['id']}/export"
    answer = service.client.get(url, params={"format": form})
    assert answer.status_code == 200
    found = answer.json()
    assert found["format"] == form
    assert found["plan_time_us"] == pytest.approx(plan["iteration_time_us"])
    assert found["iteration_time_us"] >= plan["lower_bound_us"] * (1 - 1e-7)
    assert found["files"]
    for file in found["files"]:
        alone = service.client.get(url, params={"format": form, "file": file["name"]})
        held = file["text"].encode() if file["text"] is not None else None
        assert alone.content == (held or base64.b64decode(file["base64"] or ""))


def test_names_are_no_formulas(service: Service) -> None:
    body = two_layers()
    for op in body["graph"]["ops"]:
        op["id"] = f"=HYPERLINK({op['id']})"
        op["after"] = [f"=HYPERLINK({before})" for before in op.get("after", [])]
    made = service.post(body).json()
    asked = {"format": "csv", "file": "buckets.csv"}
    found = service.client.get(f"/v1/plans/{made['id']}/export", params=asked)
    tensors = [row["tensor"] for row in csv.DictReader(io.StringIO(found.text))]
    assert sorted(tensors) == ["'=HYPERLINK(g1)", "'=HYPERLINK(g2)"]


@pytest.mark.parametrize("policy", ["wfbp", "ddp", "horovod", "bytescheduler", "p3", "single"])
def test_what_a_policy_launches(service: Service, policy: str) -> None:
    body = {**SIMULATED, "policy": policy}
    simulation = service.client.post("/v1/simulations", json=body).json()
    url = f"/v1/simulations/{simulation['id']}/export"
    answer = service.client.get(url, params={"format": "csv"}).json()
    rows = csv.DictReader(io.StringIO(answer["files"][0]["text"]))
    found = [(row["bucket"], int(row["bytes"])) for row in rows]
    assert found == [(p["bucket"], p["bytes"]) for p in simulation["schedule"]["parts"]]
    waits = answer["plan_time_us"] < simulation["iteration_time_us"] * (1 - 1e-7)
    assert waits == any("The policy takes" in note for note in answer["notes"])
    assert waits or answer["plan_time_us"] == pytest.approx(simulation["iteration_time_us"])
    assert waits == (policy == "horovod")
    file = service.client.get(url, params={"format": "ddp", "file": "ddp_buckets.py"})
    assert file.text.startswith('"""Gradient buckets')
    assert faults(service.client.get(url, params={"format": "fsdp"})) == {
        ("/graph/ops", "not_sharded")
    }
    assert service.client.get("/v1/simulations/0/export?format=csv").status_code == 404


def test_the_barrier_of_a_policy_is_exported(service: Service) -> None:
    policy = {"policy": "wfbp", "barrier": True}
    body = {**SIMULATED, "policy": policy}
    simulation = service.client.post("/v1/simulations", json=body).json()
    url = f"/v1/simulations/{simulation['id']}/export?format=csv"
    answer = service.client.get(url).json()
    assert answer["plan_time_us"] == pytest.approx(simulation["iteration_time_us"])


def test_a_policy_from_the_command(tmp_path: Path, two: str, run: Run) -> None:
    made = run("export", two, "--policy", "ddp:bucket_cap_mb=1,first_bucket_mb=1",
        "--format", "ddp", "--workers", "16", "--out", str(tmp_path / "ddp"),
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    told = run("simulate", two, "--policy", "ddp:bucket_cap_mb=1,first_bucket_mb=1", "--workers",
        "16", "--json",
    )  # fmt: skip
    time = json.loads(told.stdout)["iteration_time_us"] / 1e3
    assert f"the policy's launches {time:.3f} ms." in made.stdout
    written = json.loads((tmp_path / "ddp" / "buckets.json").read_text())
    assert [b["parameters"] for b in written["buckets"]] == [["g2"], ["g1"]]
    both = run("export", two, "--policy", "ddp", "--plan", two, "--format", "csv", "--out", "x")
    assert both.returncode == 2
    assert "a plan or a policy, not both" in both.stderr
    unknown = run("export", two, "--policy", "dpd", "--format", "csv", "--out", "x")
    assert unknown.returncode == 2
    assert "--policy: Policy must be one of" in unknown.stderr


def test_parts_come_out_as_they_are(service: Service, plan: Json) -> None:
    url = f"/v1/plans/{plan['id']}/export"
    text = service.client.get(url, params={"format": "csv", "file": "parts.csv"}).text
    rows = [(row["bucket"], int(row["bytes"])) for row in csv.DictReader(io.StringIO(text))]
    assert rows == [(part["bucket"], part["bytes"]) for part in plan["schedule"]["parts"]]


def test_refused_exports(service: Service, plan: Json) -> None:
    url = f"/v1/plans/{plan['id']}/export"
    assert faults(service.client.get(url, params={"format": "gloo"})) == {
        ("/query/format", "out_of_range")
    }
    missing = service.client.get(url)
    assert (missing.status_code, missing.json()["errors"][0]["pointer"]) == (422, "/query/format")
    other = service.client.get(url, params={"format": "csv", "file": "x"})
    assert (other.status_code, other.json()["code"]) == (404, "not_found")
    assert service.client.get("/v1/plans/0/export?format=csv").status_code == 404


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(TWO_LAYERS))
    return str(path)


def test_export_writes_files_or_prints_one(tmp_path: Path, two: str, run: Run) -> None:
    printed = run("export", two, "--format", "deepspeed")
    assert printed.returncode == 0
    assert "reduce_bucket_size" in printed.stdout
    assert "Simulated: " in printed.stderr
    out = tmp_path / "new" / "ddp"
    planned = run("plan", two, "--workers", "16", "--json")
    (tmp_path / "plan.json").write_text(planned.stdout)
    made = run("export", two, "--format", "ddp", "--plan", str(tmp_path / "plan.json"),
        "--out", str(out),
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    time = json.loads(planned.stdout)["iteration_time_us"] / 1e3
    assert f"the plan {time:.3f} ms." in made.stdout  # on the plan's cluster
    assert {path.name for path in out.iterdir()} == {"buckets.json", "ddp_buckets.py"}


@pytest.mark.parametrize(
    "broken", [{"schedule": None}, {"schedule": {"parts": [], "slot_us": 1}}, {"request": 3}]
)
def test_a_broken_plan_is_refused(tmp_path: Path, two: str, broken: Json, run: Run) -> None:
    planned = json.loads(run("plan", two, "--json").stdout)
    (tmp_path / "plan.json").write_text(json.dumps(planned | broken))
    made = run("export", two, "--format", "deepspeed", "--plan", str(tmp_path / "plan.json"))
    assert "Traceback" not in made.stderr
    assert made.returncode == (0 if "request" in broken else 1)
    if made.returncode:
        assert "This is no plan as plan --json prints it" in made.stderr


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--format", "gloo"), "--format"),
        (("--format", "ddp"), "give a folder for buckets.json, ddp_buckets.py"),
    ],
)
def test_wrong_flags_of_export(
    tmp_path: Path, two: str, flags: tuple[str, ...], says: str, run: Run
) -> None:
    done = run("export", two, *flags)
    assert done.returncode == 2
    assert says in done.stderr


PROFILE = """\
node1 -- Conv2d -- forward_compute_time=1, backward_compute_time=2, parameter_size=4000000
node2 -- Linear -- forward_compute_time=1, backward_compute_time=2, parameter_size=8000000
\tnode1 -- node2
"""


def test_what_is_imported_can_be_planned(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "two.graph.txt"
    file.write_text(PROFILE)
    told = run("import", str(file))
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("Read from a pipedream file: 6 ops, 2 collectives, 12.000 MB\n")
    made = run("import", "-", "--name", "two", "--json", stdin=PROFILE)
    assert json.loads(made.stdout)["graph"]["name"] == "two"
    planned = run("plan", "-", "--json", stdin=made.stdout)
    assert planned.returncode == 0
    assert sum(b["bytes"] for b in json.loads(planned.stdout)["buckets"]) == 12_000_000


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (("--format", "zip"), 2, "--format"),
        (("--step", "-1"), 2, "--step"),
        (("--format", "dnn_partitioning"), 1, "standard input"),
    ],
)
def test_wrong_use_of_import(
    tmp_path: Path, flags: tuple[str, ...], code: int, says: str, run: Run
) -> None:
    done = run("import", "-", *flags, stdin=PROFILE)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
