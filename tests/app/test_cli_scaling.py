"""The commands predict, sweep and calibrate, and clusters by cost model."""

import csv
import json
from pathlib import Path

import pytest

from app.services.examples import TWO_LAYERS
from tests.app.command import Run

#: T = 50 us + 0.001 us a byte.
SAMPLES = "size(B),time(us)\n" + "".join(f"{10**k},{50 + 10**k / 1000}\n" for k in range(2, 8))
LAYERS = {
    "layers": [
        {"bytes": 1_000_000, "forward_us": 400, "backward_us": 900},
        {"bytes": 4_000_000, "forward_us": 450, "backward_us": 800},
    ]
}


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(TWO_LAYERS))
    return str(path)


@pytest.fixture
def samples(tmp_path: Path) -> str:
    path = tmp_path / "samples.csv"
    path.write_text(SAMPLES)
    return str(path)


def test_calibrate_prints_each_fit(tmp_path: Path, samples: str, run: Run) -> None:
    done = run("calibrate", samples, "--workers", "8")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "samples: linear, 8 workers, 100 B to 10,000,000 B"
    assert lines[1] == "  50 us + 0.001 us a byte"
    assert any(line.split()[:3] == ["linear", "0.00", "%"] for line in lines)
    assert any(line.split()[:1] == ["table"] for line in lines)


@pytest.mark.parametrize("command", ["plan", "simulate", "predict", "sweep"])
def test_a_model_from_a_file_is_used(
    tmp_path: Path, two: str, samples: str, command: str, run: Run
) -> None:
    made = run("calibrate", samples, "--workers", "8", "--json")
    model = tmp_path / "model.json"
    model.write_text(made.stdout)
    asked = (command, two, "--cost-model", str(model), "--json")
    done = run(*asked)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    cluster = answer["request"]["cluster"]
    assert cluster["cost_model"]["us_per_byte"] == pytest.approx(0.001)
    assert cluster["bandwidth_gbps"] is None  # the model replaces the network of the file
    workers = "--workers", "16"
    refused = run(*asked, *workers)
    assert refused.returncode == 2
    assert "measured with 8 workers, not 16" in refused.stderr
    scaled = run(*asked, *workers, "--extrapolate")
    warnings = [warning["code"] for warning in json.loads(scaled.stdout)["warnings"]]
    assert "extrapolated" in warnings


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is no cost model: print one with interlace calibrate --json"),
        ("[]", "is no cost model: print one with interlace calibrate --json"),
        ('{"algorithm": "linear"}', "needs us_per_byte"),
    ],
)
def test_a_file_that_is_no_model(
    tmp_path: Path, two: str, content: str, says: str, run: Run
) -> None:
    model = tmp_path / "model.json"
    model.write_text(content)
    done = run("plan", two, "--cost-model", str(model))
    assert done.returncode == 2
    assert says.removeprefix("no cost model: the body").strip() in done.stderr


def test_predict_from_layers(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "layers.json"
    path.write_text(json.dumps(LAYERS))
    done = run("predict", str(path), "--workers", "8,32", "--buffers-bytes", "0")
    assert (done.returncode, done.stderr) == (0, "")
    heads, *rows = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert heads[:3] == ["workers", "CSF", "OSF"]
    # 8: T_comp 2550; layer 2 from 0 to 7050, layer 1 to 8850; 2550 / (2550 + 8850 - 900)
    assert rows[0][0] == "8"
    assert rows[0][2] == f"{2550 / (1650 + 5650 + 1450):.3f}"
    assert rows[1][0] == "32"


@pytest.mark.parametrize("example", ["fsdp_llama_7b", "tp_gpt_8b"])
def test_graphs_over_several_channels_are_predicted_and_swept(
    tmp_path: Path, example: str, run: Run
) -> None:
    request = run("example", example).stdout
    done = run("predict", "-", "--workers", "4,16", "--time-limit", "1", stdin=request)
    assert (done.returncode, done.stderr) == (0, "")
    assert "CSF, OSF and buffers are unknown: OSF needs collectives" in done.stdout
    assert "nvlink keeps its groups of 8 workers." in done.stdout
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("  16 "))
    assert row[1:5] == ["-"] * 4
    assert all(0 < float(figure) <= float(row[-1]) + 0.001 for figure in row[5:])
    swept = run("sweep", "-", "--workers", "4,16", "--policy", "ddp", "--json", stdin=request)
    answer = json.loads(swept.stdout)
    assert "Bandwidth and start-up of nvlink stay as they are." in answer["summary"]
    for cell in answer["cells"]:
        network = json.loads(request)["cluster"] | {"workers": cell["workers"]}
        asked = json.dumps(json.loads(request) | {"cluster": network})
        alone = run("simulate", "-", "--policy", "ddp", "--json", stdin=asked)
        assert cell["iteration_time_us"]["ddp"] == json.loads(alone.stdout)["iteration_time_us"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--workers", "8,x"), "use numbers with commas between them"),
        (("--workers", "0"), "--workers"),
        (("--timeout-us", "-1"), "--timeout-us"),
    ],
)
def test_wrong_flags_of_predict(
    tmp_path: Path, two: str, flags: tuple[str, ...], says: str, run: Run
) -> None:
    done = run("predict", two, *flags)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_sweep_writes_table_and_plots(tmp_path: Path, two: str, run: Run) -> None:
    cells, plots = tmp_path / "cells.csv", tmp_path / "new" / "plots"
    done = run("sweep", two, "--workers", "2,8", "--bandwidths-gbps", "1,10,100",
        "--policy", "wfbp", "--policy", "plan", "--csv", str(cells), "--svg", str(plots),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    knees = "with 8 workers and a start-up of 50 us: none of wfbp, plan, up to the largest."
    assert knees in " ".join(done.stdout.split())
    rows = list(csv.DictReader(cells.read_text().splitlines()))
    assert len(rows) == 2 * 3 * 2
    by_hand = next(r for r in rows if (r["workers"], r["bandwidth_gbps"]) == ("8", "10.0"))
    assert float(by_hand["iteration_time_us"]) == pytest.approx(8_750, abs=0.01)
    assert sorted(path.name for path in plots.iterdir()) == [
        "speed-by-bandwidth.svg",
        "speed-by-workers.svg",
    ]
    assert all(path.read_text().startswith("<?xml") for path in plots.iterdir())


def test_calibrate_refuses_what_is_no_benchmark(tmp_path: Path, two: str, run: Run) -> None:
    done = run("calibrate", two)
    assert done.returncode == 1
    assert done.stderr.startswith(f"interlace: {two}")
    wrong = run("calibrate", "-", "--fit", "cubic", stdin=SAMPLES)
    assert wrong.returncode == 2
    assert "--fit" in wrong.stderr
