"""``--set PATH=VALUE``: it reaches any field of a request, and its faults name it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.app.command import Run
from tests.app.service import two_layers

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(two_layers()))
    return str(path)


def asked(run: Run, command: str, file: str, *texts: str) -> Any:
    flags = [part for text in texts for part in ("--set", text)]
    done = run(command, file, *flags, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["request"]


def test_a_plan_has_the_fields_that_are_set(run: Run, file: str) -> None:
    request = asked(
        run,
        "plan",
        file,
        "cluster.algorithm=double_binary_tree",  # a word needs no quotes
        "cluster.hop_us=2",
        'cluster.channels.nvlink={"workers": 4, "bandwidth_gbps": 100}',
        "cluster.channels.pcie.startup_us=3",  # which there is not yet
        "cluster.channels.pcie.bandwidth_gbps=50",
        "options.seed=3",
        'options.baselines=["ddp"]',
        'what_if=[{"match": "g*", "remove": true}]',
    )
    cluster, options = request["cluster"], request["options"]
    assert (cluster["algorithm"], cluster["hop_us"]) == ("double_binary_tree", 2)
    assert cluster["channels"]["nvlink"]["workers"] == 4
    assert cluster["channels"]["pcie"]["startup_us"] == 3
    assert (options["seed"], [each["policy"] for each in options["baselines"]]) == (3, ["ddp"])
    assert request["what_if"][0]["match"] == "g*"


def test_what_launches_take_besides_their_start_up_is_printed(run: Run, file: str) -> None:
    negotiation, share = "cluster.negotiation_us_per_worker=10", "cluster.line_rate_share=0.8"
    done = run("simulate", file, "--policy", "ddp", "--set", negotiation, "--set", share)
    assert "a launch and 10 us a worker, 80 % of the line rate; PyTorch DDP" in done.stdout


def test_it_wins_over_the_file_and_the_flags(run: Run, file: str) -> None:
    done = run("plan", file, "--workers", "4", "--set", "cluster.workers=16", "--json")
    assert json.loads(done.stdout)["request"]["cluster"]["workers"] == 16


def test_items_of_a_list_are_set_by_their_places(run: Run, file: str) -> None:
    request = two_layers()
    [place] = [i for i, op in enumerate(request["graph"]["ops"]) if op["id"] == "g2"]
    done = run("plan", file, "--set", f"graph.ops.{place}.bytes=16000000", "--json")
    buckets = json.loads(done.stdout)["buckets"]
    assert sum(bucket["bytes"] for bucket in buckets) == 17_000_000


@pytest.mark.parametrize(
    ("command", "text", "field", "value"),
    [
        ("simulate", "bins=10", "bins", 10),
        ("simulate", "policy=ddp", "barrier", False),  # in the place of the one that is usual
        ("simulate", "jitter.spread=0.1", "jitter", 0.1),
        ("predict", "paper_eq15=true", "paper_eq15", True),
        ("sweep", "seed=4", "seed", 4),
    ],
)
def test_every_command_that_asks_for_one_iteration_has_it(
    run: Run, file: str, command: str, text: str, field: str, value: object
) -> None:
    more = () if command != "sweep" else ('policies=["wfbp"]',)
    found = asked(run, command, file, text, *more)[field]
    assert (found["spread"] if field == "jitter" else found) == value


@pytest.mark.parametrize(
    ("command", "texts", "line"),
    [
        # what is no PATH=VALUE
        ("plan", ["seed"], "Invalid value for --set: use PATH=VALUE, as in options.seed=3"),
        ("plan", ["=3"], "Invalid value for --set: use PATH=VALUE"),
        ("plan", ["options..seed=3"], "Invalid value for --set: use PATH=VALUE"),
        # twice, or one in the other
        ("plan", ["bins=1", "bins=2"], "Invalid value for --set bins: bins is set as well"),
        ("plan", ["a={}", "a.b=2"], "Invalid value for --set a.b: a is set as well"),
        # where no object is
        ("plan", ["graph.name.x=3"], "Invalid value for --set graph.name.x: graph.name is a value"),
        (
            "plan",
            ["graph.ops.6.bytes=3"],
            "Invalid value for --set graph.ops.6.bytes: graph.ops has 6",
        ),
        ("plan", ["graph.ops.x=3"], "Invalid value for --set graph.ops.x: graph.ops has 6 items"),
        # unknown, with what may be meant: a field of what is there, one of what was made, the top
        (
            "plan",
            ["cluster.startup_u=20"],
            "--set cluster.startup_u: Cluster: startup_u is not a known field. "
            "Did you mean startup_us?",
        ),
        (
            "plan",
            ["optons.seed=3"],
            "--set optons.seed: Optons is not a known field. Did you mean options?",
        ),
        (
            "plan",
            ["cluster.channels.a.hops=3"],
            "--set cluster.channels.a.hops: Cluster: channels/a/hops is not a known field. "
            "Did you mean hop_us?",
        ),
        (
            "plan",
            ["workers=4"],
            "--set workers: Workers is not a known field. Did you mean cluster.workers?",
        ),
        (
            "plan",
            ["cluster.seed=4"],
            "--set cluster.seed: Cluster: seed is not a known field. Did you mean options.seed?",
        ),
        ("plan", ["cluster.xyzzy=3"], "--set cluster.xyzzy: Cluster: xyzzy is not a known field."),
        # against a rule of the schema, or of the solver
        ("plan", ["cluster.workers=0"], "--set cluster.workers: Cluster: workers must be 1 to"),
        (
            "plan",
            ["cluster.workers=x"],
            "--set cluster.workers: Cluster: workers must be an integer",
        ),
        (
            "plan",
            ["options.fusion=x"],
            "--set options.fusion: Options: fusion must be one of joint",
        ),
        (
            "plan",
            ["options.slot_us.x=3"],
            "--set options.slot_us.x: Options: slot_us must be a number",
        ),
        ("plan", ["options.slot_us=0.1"], "--set options.slot_us: "),
        ("sweep", ["workers=[0]"], "--set workers: Workers item 0 must be 1 to"),
        # what is missing in an object that was made
        ("simulate", ["jitter.seed=3"], "--set jitter.seed: Jitter: spread is missing."),
    ],
)
def test_a_fault_names_the_flag_the_path_and_the_rule(
    run: Run, file: str, command: str, texts: list[str], line: str
) -> None:
    done = run(command, file, *(part for text in texts for part in ("--set", text)))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"interlace: {line}")
    assert done.stderr.count("\n") == 1


def test_a_fault_of_another_flag_or_of_the_file_is_not_blamed_on_it(run: Run, file: str) -> None:
    done = run("plan", file, "--workers", "0", "--set", "options.seed=3")
    assert done.stderr.startswith("interlace: --workers: ")
    body = two_layers()
    body["cluster"]["workers"] = 0
    Path(file).write_text(json.dumps(body))
    done = run("plan", file, "--set", "cluster.hop_us=3")
    assert done.returncode == 1
    assert done.stderr.startswith(f"interlace: {file} /cluster/workers: ")


def test_a_file_that_is_no_request_is_its_own_fault(run: Run, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[]")
    done = run("plan", str(tmp_path / "list.json"), "--set", "options.seed=3")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_the_report_of_a_trace_tells_what_was_set(run: Run) -> None:
    traces = [str(DATA / f"kineto_gloo_{rank}.json.gz") for rank in (0, 1)]
    done = run("plan", *traces, "--set", "cluster.workers=8", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assumed = json.loads(done.stdout)["report"]["assumed"]
    assert any("8 workers by --set cluster.workers, instead of" in each for each in assumed)
