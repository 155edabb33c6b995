"""The commands simulate and example, and what-ifs."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import interlace
from app.reading.requests import problem_of, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.problem import graph_json
from app.schemas.sweeps import SweepRequest
from app.services.examples import TWO_LAYERS
from app.services.sweeps.run import run as swept_by_service
from solver.models import MODELS
from solver.simulation.compression import Compression
from solver.simulation.what_if import Change, apply_changes
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
    assert "\n\ntwo layers on 8 workers at 10 Gbit/s\nring, start-up 50 us a " in done.stdout
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
    assert "the plan given" in shown.stdout


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


def test_the_barrier_of_a_request_counts_in_sweeps(two: str, run: Run) -> None:
    """The same cells by the command, in Python and by the service; a flag says it, too."""
    swept = ("--workers", "2,8", "--policy", "ddp", "--policy", "plan", "--json")
    asked = {**TWO_LAYERS, "options": {"barrier": True}}
    answer = json.loads(run("sweep", "-", *swept, stdin=json.dumps(asked)).stdout)
    assert answer["request"]["barrier"] is True
    by_flag = json.loads(run("sweep", two, "--barrier", *swept).stdout)
    assert by_flag["cells"] == answer["cells"]
    free = json.loads(run("sweep", two, *swept).stdout)["cells"]
    times = [cell["iteration_time_us"] for cell in answer["cells"]]
    assert times != [cell["iteration_time_us"] for cell in free]
    same = {"graph": TWO_LAYERS["graph"], "cluster": TWO_LAYERS["cluster"], "barrier": True}
    same |= {"workers": [2, 8], "policies": ["ddp", "plan"]}
    posted = problem_of(read_parsed(same, SweepRequest))
    assert [cell.iteration_time_us for cell in swept_by_service(posted).cells] == times
    clusters: list[Any] = [TWO_LAYERS["cluster"] | {"workers": n} for n in (2, 8)]
    cells = interlace.sweep(asked, clusters, ["ddp", "plan"])
    assert [dict(zip(cells.policies, cell.times, strict=True)) for cell in cells] == times
    over = {**asked, "barrier": False}  # what the request itself says wins
    found = json.loads(run("sweep", "-", *swept, stdin=json.dumps(over)).stdout)
    assert found["cells"] == free


@pytest.mark.parametrize("compression", ["fp16", {"bytes_factor": 0.1, "encode_us_per_byte": 1e-4}])
def test_what_if_gradients_are_compressed(
    tmp_path: Path, run: Run, compression: str | dict[str, float]
) -> None:
    """As the graph that has the ops of coding itself."""
    graph, _ = read_parsed(TWO_LAYERS, PlanRequest)
    by = compression if isinstance(compression, str) else Compression(**compression)
    coded = tmp_path / "coded.json"
    assert graph is not None
    coded_graph = apply_changes(graph, [Change("g*", compression=by)])
    coded.write_text(json.dumps(TWO_LAYERS | {"graph": graph_json(coded_graph)}))
    asked = tmp_path / "asked.json"
    change = {"match": "*", "kind": "all_reduce", "compression": compression}
    asked.write_text(json.dumps(TWO_LAYERS | {"what_if": [change]}))
    found = json.loads(run("plan", str(asked), "--json").stdout)
    alone = json.loads(run("plan", str(coded), "--json").stdout)
    assert found["what_if"]["iteration_time_us"] == alone["iteration_time_us"]
    written = found["request"]["what_if"][0]["compression"]
    assert written == (by if isinstance(by, str) else asdict(by))


def test_compression_by_flags(tmp_path: Path, two: str, run: Run) -> None:
    """Of what is swept, too: the cells are those of the graph with the ops of coding."""
    graph, _ = read_parsed(TWO_LAYERS, PlanRequest)
    assert graph is not None
    coded = tmp_path / "coded.json"
    changed = apply_changes(graph, [Change("g*", compression="fp16")])
    coded.write_text(json.dumps(TWO_LAYERS | {"graph": graph_json(changed)}))
    text = "g*=all_reduce*fp16"
    found = json.loads(run("simulate", two, "--what-if", text, "--json").stdout)["what_if"]
    alone = json.loads(run("simulate", str(coded), "--json").stdout)
    assert found["iteration_time_us"] == alone["iteration_time_us"]
    swept = ("--workers", "2,8", "--policy", "ddp", "--policy", "plan", "--json")
    of_changed = json.loads(run("sweep", two, "--change", text, *swept).stdout)
    assert of_changed["cells"] == json.loads(run("sweep", str(coded), *swept).stdout)["cells"]
    assert of_changed["summary"][0] == "With ops changed: g*: kind all_reduce, compression fp16."


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
        (["--what-if", "g2=fp17"], 2, "or PATTERN=COMPRESSION: fp16, bf16, fp8, int8, topk"),
        (["--what-if", "g2=gossip*fp16"], 2, "--what-if"),
        (["--what-if", "b2=fp16"], 2, "No collective matches 'b2'"),
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


def test_flags_say_their_own_names(tmp_path: Path, two: str, run: Run) -> None:
    done = run("sweep", two, "--change", "g1=foo")
    assert (done.returncode, "--change: use PATTERN=remove" in done.stderr) == (2, True)
    names = tmp_path / "names.json"
    names.write_bytes('[["é", 4]]'.encode("latin-1"))
    done = run("import", two, "--parameters", str(names))
    assert done.returncode == 2
    assert done.stderr.startswith("interlace: ")
    assert "names.json is not UTF-8 text" in done.stderr
