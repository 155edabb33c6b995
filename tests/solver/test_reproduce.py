"""The papers' figures beside ours: each table of the benchmark on a row or two."""

import subprocess
import sys

import pytest

from solver.models.vision import vgg
from tests.benchmarks.papers import mxnet, osf, pace
from tests.benchmarks.papers.gpus import SPEED, vgg_us
from tests.benchmarks.papers.pace_cells import Key, gain, graph, times
from tests.benchmarks.papers.tables import Row, Table, overlap, percents, show


def run(keys):
    return [times(key) for key in keys]


def claims(table):
    """Rows by claim; what disagrees says why."""
    assert all(row.why for row in table.rows if row.agrees is False)
    return {row.claim: row for row in table.rows}


def test_tensors_of_mxnet_resnet50():
    sizes = [count for step in mxnet.resnet50() for _, count in step.parameters]
    assert (len(sizes), sum(sizes)) == (157, 25_549_486)


def test_models_have_the_printed_sizes():
    assert all(row.agrees in {True, None} for row in pace.table_2().rows)
    assert all(row.agrees for row in osf.table_2().rows)


def test_compute_times_follow_from_the_measured_ones():
    assert pytest.approx(4.9e6, rel=0.01) == SPEED  # 161 ms for 32 images of 4.1 10^9 multiply-adds
    small, middle, large = (vgg_us(list(vgg(depth))) for depth in (11, 16, 19))
    assert (small, large) == (121e3, 268e3)
    assert small < middle < large
    assert sum(graph("VGG16").durations) == pytest.approx(2 * middle)
    assert sum(graph("VGG16", 3.0).durations) == pytest.approx(6 * middle)


def test_workers():
    found = claims(pace.fig_8(run, ["VGG16"], (2, 16)))
    ours = [gain(times(Key("VGG16", count)), "wfbp") for count in (2, 16)]
    assert found["PACE over wfbp, VGG16"] == Row(
        "PACE over wfbp, VGG16", "20 to 36 %", percents((min(ours), max(ours))), agrees=True
    )
    assert found["PACE over horovod, VGG16"].agrees
    assert found["PACE over tictac, VGG16"].agrees
    assert "joint plan over PACE, VGG16" in found


def test_bandwidth():
    found = claims(pace.fig_9(run, ["VGG16"]))
    assert found["  its largest gain, VGG16"].agrees
    assert found["  the same at 1 Gbit/s"].agrees


@pytest.mark.parametrize("table", [pace.by_startup, pace.by_slowness])
def test_sensitivity(table):
    rows = table(run, (1.0,), (2,)).rows
    assert [row.paper for row in rows] == ["20 to 36 %", "3 to 32 %", "13 to 21 %"]


def test_barrier_changes_nothing_first_in_first_out():
    found = times(Key("Seq2Seq"))
    for policy in ("wfbp", "horovod"):
        assert found[f"{policy} + barrier"] == pytest.approx(found[policy])
    assert found["tictac + barrier"] > found["tictac"]


def test_scaling():
    assert osf.factor("VGG16", osf.reached()) == pytest.approx(0.25)
    assert osf.reached().gbps < osf.PRINTED_GBPS
    found = claims(osf.scaling())
    assert found["CSF above OSF for the three ResNets"].agrees
    assert found["OSF off the measured; ours off the simulator"].ours == "0.0 %"


def test_fusion():
    found = claims(osf.fusion())
    agree = [row.agrees for claim, row in found.items() if claim.startswith(("ResNet", "VGG"))]
    assert agree == [True] * 5
    assert len(osf.by_startup().rows) == len(osf.STARTUPS)


def test_ranges():
    assert overlap((0.1, 0.196), (0.20, 0.36))  # 19.6 is printed as 20
    assert not overlap((0.1, 0.194), (0.20, 0.36))
    assert not overlap((0.37, 0.5), (0.20, 0.36))
    assert percents((0.031, 0.32)) == "3 to 32 %"
    assert percents((-0.001, 0.001)) == "0 %"


def test_a_table_in_print(capsys):
    rows = [Row("one", "1", "2", agrees=False, why="Because."), Row("two", "1", "1", agrees=True)]
    show(Table("Title", rows, ["A note."]))
    assert capsys.readouterr().out.splitlines() == [
        "",
        "Title",
        "=====",
        "- A note.",
        "",
        "claim  paper  ours  agrees?",
        "one        1     2  no",
        "    Because.",
        "two        1     1  yes",
    ]


@pytest.mark.long
def test_the_quick_mode_says_why_where_it_differs():
    command = [sys.executable, "-m", "tests.benchmarks.reproduce", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    differing = [i for i, line in enumerate(lines) if line.endswith("  no")]
    assert differing
    assert all(lines[i + 1].startswith("    ") for i in differing)


def test_belief_in_half_the_start_up_gives_the_papers_direction():
    """The gains of adaFusion over MG-WFBP, which believes all, half, a quarter of the start-up."""
    table = osf.by_belief()
    assert [row.ours for row in table.rows] == ["0.0%", "2.9%", "7.5%"]
    assert all(row.agrees for row in table.rows)
