"""Timelines of Horovod, TensorFlow and XLA through the service and the command."""

import gzip
import json
from pathlib import Path

import pytest

from app.reading.traces import report_of
from tests.app.command import Run
from tests.app.service import ROOT, Service
from tests.horovod_events import HEAD, begin, end, named, steps, text

PATH = "/v1/graphs"
DATA = ROOT / "tests" / "data"
LAYERS = {
    "layers": [
        {"name": "l1", "forward_us": 10, "backward_us": 20, "gradients": [["a", 200], ["b", 100]]},
        {"name": "l2", "forward_us": 30, "backward_us": 40, "gradients": [["c", 400]]},
    ]
}


def test_a_timeline_is_read_and_planned(service: Service) -> None:
    answer = service.client.post(PATH, content=text(steps(3)))
    assert answer.status_code == 201
    found = answer.json()
    shares = found["report"]["communication"]["shares"]
    assert shares["wait"] == {"time_us": 56.667, "share": 0.2125}
    assert [one["bytes"] for one in found["report"]["communication"]["buffers"]] == [300, 400]
    assert found["cluster"]["workers"] == 2
    assert found["costs"][0]["launches"] == 6
    planned = service.post({"graph_id": found["id"], "cluster": found["cluster"]})
    assert planned.status_code == 201
    kept = service.client.get(f"{PATH}/{found['id']}").json()["report"]
    assert kept["communication"] == found["report"]["communication"]
    assert report_of(kept).communication.tensors == 3


def test_layers_beside_a_timeline(service: Service) -> None:
    files = [("files", ("t.json", text(steps(2)))), ("files", ("l.json", json.dumps(LAYERS)))]
    found = service.client.post(PATH, files=files).json()
    assert found["report"]["format"] == "horovod"
    ids = [op["id"] for op in found["graph"]["ops"]]
    assert ids[:2] == ["backward:l2", "grad:allreduce.net.c"]


def test_the_command_prints_where_the_time_went(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "timeline.json"
    file.write_bytes(text(steps(3)))
    page = run("import", str(file)).stdout
    assert page.startswith("Read from a horovod file: 8 ops, 3 collectives, 0.001 MB\n")
    assert (
        "3 tensors in 2 buffers; of their time: negotiate 31.2 %, wait 21.2 %, "
        "all-reduce 32.5 %, memcpy 7.5 %, other 7.5 %"
    ) in " ".join(page.split())
    file.write_bytes(text([*HEAD, *named(1, "x"), begin(1, "ALLREDUCE", 1), end(1, 1, "[1]")]))
    assert "  1 tensor in 1 buffer\n" in run("import", str(file)).stdout
    assert run("plan", str(file)).returncode == 0


@pytest.mark.parametrize(
    ("files", "form"),
    [
        (["tensorflow_timeline.json.gz"], "tensorflow"),
        (["jax_profile.json.gz", "jax_hlo.txt.gz"], "xla"),
    ],
)
def test_recorded_files(service: Service, files: list[str], form: str) -> None:
    sent = [("files", (name, (DATA / name).read_bytes())) for name in files]
    answer = service.client.post(PATH, files=sent)
    assert answer.status_code in {200, 201}  # nothing is stored where there is no graph
    found = answer.json()
    assert found["report"]["format"] == form
    assert (found["graph"] is None) == (form == "tensorflow")


def test_a_plan_of_a_profile_is_made(run: Run) -> None:
    files = [str(DATA / name) for name in ("jax_profile.json.gz", "jax_hlo.txt.gz")]
    done = run("plan", *files)
    assert done.returncode == 0, done.stderr
    assert run("import", *files).stdout.startswith("Read from an xla file: 21 ops, 1 collective")


def test_steps_of_parameter_servers_need_no_graph(service: Service) -> None:
    content = (DATA / "tensorflow_timeline.json.gz").read_bytes()
    answer = service.client.post(PATH, content=content)
    assert answer.status_code == 200
    found = answer.json()
    assert (found["id"], found["graph"]) == (None, None)
    sizes = [op["bytes"] for op in found["steps"][0]["ops"] if op["resource"] == "uplink"]
    assert sorted(sizes) == [4, 40, 512, 5120, 131072]
    asked = {"batch_size": 32, "bandwidths_gbps": [10], "workers": [1, 2], "simulated_steps": 40}
    body = {"steps": found["steps"], "dropped_steps": 4, **asked}
    predicted = service.post(body, "/v1/predictions/parameter-server")
    assert predicted.json()["profiled_steps"] == 1


def test_steps_with_names_that_are_too_long_are_not_answered(service: Service) -> None:
    content = gzip.decompress((DATA / "tensorflow_timeline.json.gz").read_bytes())
    answer = service.client.post(PATH, content=content.replace(b"fc1/", 600 * b"f" + b"/"))
    assert answer.status_code == 200
    assert answer.json()["steps"] is None
    (why,) = (w for w in answer.json()["report"]["warnings"] if "no steps" in w)
    assert len(why) < 1_000
