"""The commands simulate and example, and what-ifs."""

import json
from pathlib import Path

import pytest

from app.services.examples import TWO_LAYERS
from solver.models import MODELS
from tests.app.command import Run


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(TWO_LAYERS))
    return str(path)


def test_examples_are_listed_and_printed(tmp_path: Path, run: Run) -> None:
    listed = run("example").stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["two_layers", *MODELS]
    printed = run("example", "two_layers").stdout
    assert json.loads(printed)["graph"] == TWO_LAYERS["graph"]
    planned = run("plan", "-", stdin=printed)
    assert (planned.returncode, planned.stderr) == (0, "")
    wrong = run("example", "three_layers")
    assert wrong.returncode == 2
    assert "no example is called 'three_layers'; there are two_layers, " in wrong.stderr


def test_a_policy_as_text(tmp_path: Path, two: str, run: Run) -> None:
    done = run("simulate", two, "--policy", "wfbp", "--jitter", "0.1", "--runs", "9")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("two layers on 8 workers at 10 Gbit/s\nring, start-up 50 us a ")
    assert "one iteration                    8.750 ms\n" in done.stdout
    assert (
        "channel network                  7.100 ms  81.1 % of the time, 2 launches" in done.stdout
    )
    assert "One tensor limits this iteration: 'g2'" in done.stdout
    assert "When each op's time varies by 10 %, launches included (9 runs)" in done.stdout
    assert "faster in 0.0 %" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_plan_that_was_printed_takes_its_time(tmp_path: Path, two: str, run: Run) -> None:
    (tmp_path / "plan.json").write_text(run("plan", two, "--json").stdout)
    plan = json.loads((tmp_path / "plan.json").read_text())
    done = run("simulate", two, "--plan", str(tmp_path / "plan.json"), "--json",
    )  # fmt: skip
    assert json.loads(done.stdout)["iteration_time_us"] == plan["iteration_time_us"]
    shown = run("simulate", two, "--plan", str(tmp_path / "plan.json"))
    assert "the plan given" in shown.stdout.splitlines()[1]


def test_a_plan_brings_its_cluster(tmp_path: Path, two: str, run: Run) -> None:
    flags = ("--workers", "16", "--bandwidth-gbps", "25")
    (tmp_path / "plan.json").write_text(run("plan", two, *flags, "--json").stdout)
    plan = json.loads((tmp_path / "plan.json").read_text())
    given = ("--plan", str(tmp_path / "plan.json"), "--json")
    found = json.loads(run("simulate", two, *given).stdout)
    assert found["iteration_time_us"] == plan["iteration_time_us"]
    other = json.loads(run("simulate", two, *given, "--workers", "2").stdout)
    assert other["request"]["cluster"]["workers"] == 2
    assert other["request"]["cluster"]["bandwidth_gbps"] == 25


def test_what_if(tmp_path: Path, two: str, run: Run) -> None:
    for command in ("plan", "simulate"):
        done = run(command, two, "--what-if", "g2=remove")
        assert (
            "what if                          4.000 ms  with the ops changed: saves " in done.stdout
        )
    half = ("--what-if", "g*=bytes*0.5", "--what-if", "b?=duration*0", "--json")
    found = json.loads(run("simulate", two, *half).stdout)["what_if"]
    # 2 MB from 0 to 2850, 0.5 MB to 3600, then f1 and f2
    assert found["iteration_time_us"] == pytest.approx(3600 + 850)


def test_the_barrier_and_the_cluster_of_a_request_count(tmp_path: Path, two: str, run: Run) -> None:
    barred = run("simulate", two, "--barrier", "--workers", "2", "--json").stdout
    found = json.loads(barred)
    assert found["request"]["barrier"] is True
    assert found["request"]["cluster"]["workers"] == 2
    asked = {**TWO_LAYERS, "options": {"barrier": True}}
    again = run("simulate", "-", "--json", stdin=json.dumps(asked)).stdout
    assert json.loads(again)["request"]["barrier"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        # a policy that is none, a parameter that it has not
        (["--policy", "best"], 2, "--policy: Policy must be one of "),
        (["--policy", "ddp:cap=1"], 2, "--policy: Policy: cap is not a known field."),
        (["--policy", "ddp:cap"], 2, "use NAME:KEY=VALUE,KEY=VALUE"),
        # jitter out of range, by its own flag
        (["--jitter", "-1"], 2, "--jitter: "),
        (["--jitter", "1", "--runs", "0"], 2, "--runs: "),
        (["--jitter", "1", "--rival", "x"], 2, "--rival: "),
        # a change that is none, a pattern that matches nothing
        (["--what-if", "g2"], 2, "use PATTERN=remove"),
        (["--what-if", "g2=shrink*2"], 2, "use PATTERN=remove"),
        (["--what-if", "x=remove"], 2, "--what-if: No op id matches 'x'."),
        # a plan that is none
        (["--plan", "two.json"], 2, "two.json is no plan"),
        (["--plan", "nowhere.json"], 1, "nowhere.json"),
        (["--plan", "plan.txt"], 2, "plan.txt: The body is not JSON"),
        (["--plan", "other.json"], 2, "--plan: The graph has none of the plan's tensors"),
        (["--plan", "other.json", "--policy", "ddp"], 2, "--plan: Give a policy or a plan"),
        # what means nothing alone
        (["--runs", "5"], 2, "--runs: needs --jitter"),
        (["--rival", "ddp"], 2, "--rival: needs --jitter"),
    ],
)
def test_wrong_use(
    tmp_path: Path, two: str, arguments: list[str], code: int, message: str, run: Run
) -> None:
    (tmp_path / "plan.txt").write_text("plan")
    other = {"buckets": [{"id": "b", "tensors": ["x"]}], "schedule": {"parts": []}}
    (tmp_path / "other.json").write_text(json.dumps(other))
    places = {"two.json", "nowhere.json", "plan.txt", "other.json"}
    given = [str(tmp_path / text) if text in places else text for text in arguments]
    done = run("simulate", two, *given)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
