"""The command sizes: text, JSON and plot of any graph."""

import json
from pathlib import Path

import pytest

from app.services.examples import TWO_LAYERS
from tests.app.command import Run


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(TWO_LAYERS))
    return str(path)


def test_a_table_of_sizes(two: str, run: Run) -> None:
    done = run("sizes", two)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        "two layers",
        "",
        "2 tensors by all_reduce on network: 1,000,000 B to 4,000,000 B, the median 1,000,000 B, "
        "5,000,000 B",
        "in all",
        "  no larger than  tensors    of all  of the bytes",
        "  1,000,000 B           1   50.00 %       20.00 %",
        "  4,000,000 B           2  100.00 %      100.00 %",
    ]


def test_json_and_the_same_plot_again(tmp_path: Path, two: str, run: Run) -> None:
    plot = tmp_path / "sizes.svg"
    done = run("sizes", two, "--json", "--svg", str(plot))
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(done.stdout)
    assert found["shares"] == [
        {"size": 1_000_000, "tensors": 1, "bytes": 1_000_000},
        {"size": 4_000_000, "tensors": 2, "bytes": 5_000_000},
    ]
    first = plot.read_bytes()
    assert b"all_reduce on network: bytes" in first
    run("sizes", two, "--svg", str(plot))
    assert plot.read_bytes() == first


def test_all_sizes_are_bytes(tmp_path: Path, run: Run) -> None:
    ops = [{"id": "b", "kind": "compute", "duration_us": 1}]
    ops += [
        {"id": f"g{size}", "kind": "all_reduce", "bytes": size, "after": ["b"]}
        for size in (1_000, 2**20, 3 * 2**30)
    ]
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps({"name": "mixed", "ops": ops}))
    done = run("sizes", str(path))
    assert "3,221,225,472 B" in done.stdout
    assert "iB" not in done.stdout


def test_another_format_is_refused(tmp_path: Path, two: str, run: Run) -> None:
    plot = tmp_path / "sizes.png"
    done = run("sizes", two, "--svg", str(plot))
    assert (done.returncode, done.stdout) == (2, "")
    assert "would hold SVG: name it .svg" in done.stderr
    assert not plot.exists()


def test_what_is_no_graph_is_refused(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "no.json"
    path.write_text("{}")
    done = run("sizes", str(path))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "no.json" in done.stderr
