"""The command placements."""

import json
from pathlib import Path

import pytest

from app.services.examples import TWO_LAYERS
from tests.app.command import Run
from tests.app.service import ROOT

MODEL = [
    "--model-bytes",
    "1000000",
    "--batch-time-us",
    "1000",
    "--workers",
    "4",
    "--chunk-bytes",
    "10000",
]
TRACE = ROOT / "tests" / "data" / "kineto_gloo_0.json.gz"


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(TWO_LAYERS))
    return str(path)


def rows(page: str) -> dict[str, list[str]]:
    """Return the cells of each placement."""
    table = page.split("\n\n")[1].splitlines()[1:5]
    return {line.split()[0]: line.split()[1:] for line in table}


def test_a_model_by_flags(tmp_path: Path, run: Run) -> None:
    done = run("placements", *MODEL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "This model, 1,000,000 B, 4 workers: bandwidth that hides an exchange in 1.000 ms\n"
    )
    found = rows(done.stdout)
    assert [cells[1] for cells in found.values()] == ["64.000", "48.000", "16.000", "24.000"]
    assert [cells[-1] for cells in found.values()] == ["server", "server", "both", "both"]
    assert "100 chunks of 10,000 B at most:\n  one server: all on one core\n" in done.stdout
    assert "  sharded: 4 servers, the fullest 1.0000 times the mean, the least possible\n" in (
        done.stdout
    )


def test_what_is_asked_besides(tmp_path: Path, two: str, run: Run) -> None:
    done = run(
        "placements", two, "--workers", "4", "--bandwidth-gbps", "16", "--chunk-bytes", "100000",
        "--racks", "racks=2,workers_per_rack=4,worker_gbps=8,pbox_gbps=32,core_gbps=8",
        "--prices", "baseline_samples_per_s=1000,hub_samples_per_s=1000,hub.oversubscription=1",
        "--job", "slow:model_bytes=1000000,batch_time_us=20000,workers=2",
        "--job", "model_bytes=1000000,batch_time_us=1000,workers=2",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = rows(done.stdout)
    # 5 MB in 2550 us are 15.69 Gbit/s, of which ncs needs twice as much: 32 / 31.37
    assert found["ncs"][5:7] == ["1.020", "any"]
    assert "At 16 Gbit/s each way:\n  ncc: An interface of a host with a server needs 125.5" in (
        done.stdout
    )
    assert "\nRacks: 10.000 ms > 7.500 ms: reduce in each rack first;" in done.stdout
    assert "\nPrices: A PHub for 44 workers trains" in done.stdout
    assert "\n  slow   20.000    20.000     1.000\n" in done.stdout
    assert "\n  job 2 " in done.stdout


def test_a_machine_sizes_and_systems(tmp_path: Path, two: str, run: Run) -> None:
    done = run(
        "placements", two, "--workers", "4", "--bandwidth-gbps", "16", "--simulate", "ncc",
        "--machine", "preset=phub,startup_us=0.5", "--chunk-sizes", "100000,1000000",
        "--systems", "mxnet,pbox", "--simulated-transfers", "4000",
        "--prices", "baseline_samples_per_s=557,hub_samples_per_s=500",
        "--oversubscriptions", "1,3",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "  ncc: Limited by the interfaces of servers, busy for 10.000 ms an exchange; " in (
        done.stdout
    )
    assert "\nSizes of chunks, time of an exchange [ms]:\n" in done.stdout
    assert "\nncc: best with chunks of " in done.stdout
    assert "\nSystems, at the same bandwidth [ms]:\n" in done.stdout
    assert "\nTake ncc, a PHub for 76 workers and 3:1 oversubscription: " in done.stdout
    done = run("placements", *MODEL, "--oversubscriptions", "1,3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs --prices" in done.stderr


def test_sizes_of_chunks_may_be_repeated(two: str, run: Run) -> None:
    given = ["placements", two, "--workers", "4", "--bandwidth-gbps", "16", "--simulate", "ncc"]
    given += ["--simulated-transfers", "1000", "--chunk-sizes", "1000000"]
    one = run(*given)
    assert "\nSizes of chunks, time of an exchange [ms]:\n" in one.stdout
    assert "best with" not in one.stdout  # there is nothing that it is better than
    more = run(*given, "--chunk-sizes", "500000,2000000", "--json")
    asked = json.loads(more.stdout)["request"]["chunk_sizes"]
    assert asked == [1_000_000, 500_000, 2_000_000]


def test_a_trace_and_a_request(tmp_path: Path, two: str, run: Run) -> None:
    traced = run("placements", str(TRACE), "--json", "--simulate", "cs")
    assert (traced.returncode, traced.stderr) == (0, "")
    asked = json.loads(traced.stdout)["request"]
    assert asked["workers"] == 2  # as recorded
    assert asked["simulate"] == ["cs"]
    request = tmp_path / "request.json"
    keys = [{"name": "a", "bytes": 100}, {"name": "b", "bytes": 50}]
    request.write_text(json.dumps({"keys": keys, "batch_time_us": 10, "workers": 2}))
    own = json.loads(run("placements", str(request), "--workers", "3", "--json").stdout)["request"]
    assert (own["workers"], own["model_bytes"], own["keys"]) == (3, 150, keys)
    piped = run("placements", "-", "--json", stdin=json.dumps(TWO_LAYERS["graph"]))
    assert json.loads(piped.stdout)["request"]["workers"] == 8
    assert json.loads(run("placements", two, "--json").stdout)["request"]["workers"] == 8


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["--workers", "4"], 1, "--model-bytes: Give model_bytes, keys, a graph"),
        ([*MODEL, "--step", "1"], 2, "Invalid --step: needs a trace"),
        ([*MODEL, "--servers", "200000"], 2, "--servers: All servers have 200,000 cores"),
        ([*MODEL, "--job", "model_bytes=1"], 2, "--job: Jobs item 0: batch_time_us is missing."),
        ([*MODEL, "--simulate", "cs,nobody"], 2, "--simulate: Simulate item 1 must be one of"),
        ([*MODEL, "--chunk-sizes", "0"], 2, "--chunk-sizes: chunk_sizes item 0 must be"),
        (
            [*MODEL, "--machine", "phub"],
            2,
            "Invalid --machine: use KEY=VALUE,KEY=VALUE, such as preset",
        ),
        (
            [*MODEL, "--machine", "zzz=1"],
            2,
            "--machine: Machine: zzz is not a known field. There are: preset, startup_us, ",
        ),
        ([*MODEL, "--racks", "racks"], 2, "Invalid --racks: use KEY=VALUE,KEY=VALUE"),
        (
            [*MODEL, "--racks", "racks=1,racks=2"],
            2,
            "Invalid --racks: racks stands there twice",
        ),
        (
            [*MODEL, "--prices", "hub=1,hub.cable_dollars=2"],
            2,
            "Invalid --prices: hub is a value",
        ),
        (
            [*MODEL, "--prices", "hub..x=2"],
            2,
            "Invalid --prices: use KEY=VALUE,KEY=VALUE",
        ),
        ([*MODEL, "--prices", "hub_samples_per_s=2"], 2, "--prices: Prices: baseline_samples"),
        (["two.json", "--model-bytes", "9"], 1, "two.json /graph: Give model_bytes or graph"),
        (["two.json", "--workers", "0"], 2, "--workers: Cluster: workers must be"),
    ],
)
def test_faults(
    tmp_path: Path,
    two: str,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("placements", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    said = done.stderr.replace("Invalid value for", "Invalid")
    assert f"interlace: {line}" in said
