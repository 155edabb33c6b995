"""``interlace compare`` and ``interlace open``."""

import json
from pathlib import Path

import pytest

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
    assert "one.json (A)" in done.stdout
    assert done.stdout.endswith("2 buckets in both; 0 in one alone\n")


def test_a_plan_and_a_request_of_another_cluster(files: Path, run: Run) -> None:
    other = json.loads(Path("two.json").read_text())
    other["cluster"]["workers"] = 4
    other["options"] = {"barrier": True}
    Path("other.json").write_text(json.dumps(other))
    done = run("compare", "one.json", "other.json")
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third, *_ = done.stdout.splitlines()
    assert first.startswith("The second takes ")
    assert second == "Their cluster differ: workers 8 and 4."
    assert third == "Their options differ: barrier False and True."
    told = json.loads(run("compare", "one.json", "other.json", "--json").stdout)
    assert told["sentence"] == first
    assert {each["name"] for each in told["figures"]} >= {"this plan", "lower bound", "gain"}
    assert told["alike"] + sum(not each["is_second"] for each in told["changed"]) == 2


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
