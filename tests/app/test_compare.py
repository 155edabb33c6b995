"""``interlace compare`` and ``interlace open``."""

import json
from pathlib import Path

import pytest

import interlace
from app.services.examples import TWO_LAYERS
from tests.app.command import Run
from tests.app.service import Service


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("two.json").write_text(json.dumps(TWO_LAYERS))
    Path("one.json").write_text(run("plan", "two.json", "--json").stdout)
    return tmp_path


def test_a_plan_and_itself(files: Path, run: Run) -> None:
    done = run("compare", "one.json", "one.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Both take 8.400 ms.\n\n")
    assert "A: one.json" in done.stdout
    assert done.stdout.endswith("2 buckets in both; 0 in one alone\n")


def test_a_plan_and_a_request_of_another_cluster(files: Path, run: Run) -> None:
    other = json.loads(Path("two.json").read_text())
    other["cluster"]["workers"] = 4
    other["options"] = {"barrier": True}
    Path("other.json").write_text(json.dumps(other))
    done = run("compare", "one.json", "other.json")
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third, *_ = done.stdout.splitlines()
    assert first.startswith("B takes ")
    assert second == "Their clusters differ: workers 8 and 4."
    assert third == "Their options differ: barrier False and True."
    told = json.loads(run("compare", "one.json", "other.json", "--json").stdout)
    assert told["sentence"] == first
    assert {each["name"] for each in told["figures"]} >= {
        "iteration time",
        "lower bound",
        "gain",
        "gap",
    }
    assert told["alike"] + sum(each["held_by"] == "first" for each in told["changed"]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"buckets": [], "schedule": {}, "iteration_time_us": 1}', "is no plan of this version"),
        ("{}", "interlace: "),
    ],
)
def test_what_is_no_plan(files: Path, run: Run, text: str, words: str) -> None:
    Path("none.json").write_text(text)
    done = run("compare", "one.json", "none.json")
    assert done.returncode == 1
    assert words in done.stderr


def test_a_service_compares_as_the_command_does(service: Service, files: Path, run: Run) -> None:
    """Buckets by hand: both tensors alone in one, one bucket in the other."""
    made = service.post(TWO_LAYERS).json()
    body = {"graph": TWO_LAYERS["graph"], "cluster": TWO_LAYERS["cluster"], "policy": "single"}
    single = service.post(body, "/v1/simulations").json()
    other = service.post({**TWO_LAYERS, "cluster": TWO_LAYERS["cluster"] | {"workers": 4}}).json()
    for place in (f"plans/{other['id']}", f"simulations/{single['id']}"):
        query = {"first": f"plans/{made['id']}", "second": place}
        found = service.client.get("/v1/comparisons", params=query).json()
        assert found["alike"] == 2 if place.startswith("plans") else found["alike"] == 0
    assert [(row["held_by"], len(row["tensors"])) for row in found["changed"]] == [
        ("first", 1),  # g2, ready after 0.8 ms
        ("second", 2),  # both, ready after 1.7 ms
        ("first", 1),  # g1, when g2 has been sent
    ]
    by = single["iteration_time_us"] - made["iteration_time_us"]
    assert found["sentence"].startswith(f"B takes {by / 1e3:.3f} ms (")
    assert found["notes"] == []
    Path("a.json").write_text(json.dumps(made))
    Path("b.json").write_text(json.dumps(other))
    query["second"] = f"plans/{other['id']}"
    found = service.client.get("/v1/comparisons", params=query).json()
    assert json.loads(run("compare", "a.json", "b.json", "--json").stdout) == found
    assert "Their clusters differ: workers 8 and 4." in found["notes"]
    query["second"] = "sweeps/1"
    assert service.client.get("/v1/comparisons", params=query).status_code == 422
    query["second"] = "plans/0000"
    assert service.client.get("/v1/comparisons", params=query).status_code == 404


def test_of_a_service(service: Service, run: Run, tmp_path: Path) -> None:
    url = str(service.client.base_url).rstrip("/")
    made = service.client.post("/v1/plans", json=TWO_LAYERS, headers={"prefer": "wait=30"}).json()
    done = run("compare", made["id"], made["id"], "--server", url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Both take 8.400 ms.")
    done = run("open", made["id"], "--server", url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{url}/plans/{made['id']}\n"
    done = run("open", "0" * 32, "--server", url)
    assert done.returncode == 1
    assert "has nothing of the id" in done.stderr


def _swept(run: Run, name: str, *how: str) -> None:
    done = run("sweep", "two.json", "--json", *how)
    assert (done.returncode, done.stderr) == (0, "")
    Path(name).write_text(done.stdout)


def test_two_sweeps(files: Path, run: Run, service: Service) -> None:
    """DDP alone against all: it is slower wherever PACE is faster, by the times of the cells."""
    _swept(
        run,
        "all.json",
        "--workers",
        "2,8",
        "--bandwidths-gbps",
        "1,10",
        "--policy",
        "ddp",
        "--policy",
        "pace",
    )
    _swept(run, "ddp.json", "--workers", "8,16", "--bandwidths-gbps", "1,10", "--policy", "ddp")
    one, other = (json.loads(Path(name).read_text()) for name in ("all.json", "ddp.json"))
    done = run("compare", "all.json", "ddp.json")
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split("\n\n")[0].split())
    assert said.startswith("Of 2 clusters of both B is faster on 0, slower on 2 (by ")
    assert "2 clusters are in A alone. 2 clusters are in B alone. In A alone: pace." in said
    told = json.loads(run("compare", "all.json", "ddp.json", "--json").stdout)
    places = [(cell["workers"], cell["bandwidth_gbps"], cell["held_by"]) for cell in told["cells"]]
    assert places == [
        (workers, bandwidth, held_by)
        for workers, held_by in ((2, "first"), (8, "both"), (16, "second"))
        for bandwidth in (1, 10)
    ]
    for cell, mine, theirs in zip(
        told["cells"][2:4], one["cells"][2:], other["cells"], strict=False
    ):
        times = mine["iteration_time_us"]["pace"], theirs["iteration_time_us"]["ddp"]
        assert (cell["first_us"], cell["second_us"]) == times
        assert cell["less"] == pytest.approx(1 - times[1] / times[0])
        assert (cell["is_alike"], cell["is_other_best"]) == (False, True)
    same = json.loads(run("compare", "all.json", "all.json", "--json").stdout)
    assert same["sentence"] == "On 4 clusters of both the fastest are equal within 0.1 %."
    assert all(cell["is_alike"] and not cell["is_other_best"] for cell in same["cells"])
    mixed = run("compare", "all.json", "one.json")
    assert mixed.returncode == 1
    assert "a sweep is compared with a sweep" in mixed.stderr
    # the service and Python say the same
    base = {"graph": TWO_LAYERS["graph"], "cluster": TWO_LAYERS["cluster"]}
    base |= {"bandwidths_gbps": [1, 10]}
    asked = (
        base | {"workers": [2, 8], "policies": ["ddp", "pace"]},
        base | {"workers": [8, 16], "policies": ["ddp"]},
    )
    ids = [service.post(body, "/v1/sweeps").json()["id"] for body in asked]
    query = {"first": ids[0], "second": ids[1]}
    found = service.client.get("/v1/comparisons/sweeps", params=query).json()
    assert found == told
    swept = [
        interlace.sweep(
            TWO_LAYERS,
            [
                {**TWO_LAYERS["cluster"], "workers": n, "bandwidth_gbps": gbps}
                for n in body["workers"]
                for gbps in (1, 10)
            ],
            body["policies"],
        )
        for body in asked
    ]
    compared = interlace.compare(*swept)
    assert compared.model_dump(mode="json")["cells"] == told["cells"]
    assert repr(compared) == f"<SweepsCompared: {told['sentence']}>"
    with pytest.raises(TypeError, match="sweep is compared with a sweep"):
        interlace.compare(swept[0], interlace.plan(TWO_LAYERS, None))  # type: ignore[call-overload]
