"""The papers' figures beside ours: each table of the benchmark on a row or two."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from solver.models.vision import vgg
from tests.benchmarks.papers import (
    async_sgd,
    async_sgd_cells,
    async_sgd_saturation,
    lenet5,
    mxnet,
    osf,
    osf_belief,
    osf_fit,
    osf_fusion,
    osf_setup,
    pace,
    pace_tensors,
    pace_transport,
    phub,
    phub_machine,
    phub_money,
    phub_setup,
    phub_tenants,
    phub_training,
    sketchdlc,
)
from tests.benchmarks.papers.gpus import SPEED, vgg_us
from tests.benchmarks.papers.inception import inception_v3
from tests.benchmarks.papers.pace_cells import Key, gain, graph, times
from tests.benchmarks.papers.page import page, write
from tests.benchmarks.papers.tables import (
    Curve,
    Paper,
    Plot,
    Row,
    Table,
    content_of,
    overlap,
    percents,
    show,
)
from tests.dlc_oracle import rows_of

MEASURED = Path(__file__).parents[2] / "docs" / "measured"


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
    assert osf_setup.factor("VGG16", osf_setup.reached()) == pytest.approx(0.25)
    assert osf_setup.reached().gbps < osf_setup.PRINTED_GBPS
    found = claims(osf.scaling())
    assert found["CSF above OSF for the three ResNets"].agrees
    assert found["OSF off the measured; ours off the simulator"].ours == "0.0 %"


def test_fusion():
    found = claims(osf_fusion.fusion())
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


def test_the_page_is_that_of_its_json():
    content = json.loads((MEASURED / "papers.json").read_text())
    assert page(content) == (MEASURED / "papers.md").read_text()
    assert [paper["name"] for paper in content["papers"]] == [
        "PACE",
        "OSF",
        "SketchDLC",
        "Asynchronous SGD",
        "PHub",
    ]


def test_every_row_says_where_and_what_decides_and_why_not():
    content = json.loads((MEASURED / "papers.json").read_text())
    tables = {(table["paper"], table["title"]) for table in content["tables"]}
    assert {(row["paper"], row["table"]) for row in content["rows"]} == tables
    for row in content["rows"]:
        assert row["at"] or not row["printed"], row
        assert row["decides"], row
        assert row["why"] or row["agrees"] is not False, row
        assert row["why"] or row["ours"], row


def test_a_page_by_hand(tmp_path):
    rows = [Row("one|1", "1", "2", agrees=False, why="Because.", at="Fig. 2"), Row("two", "", "3")]
    drawn = Plot("Fig. 1", "x", "y", (Curve("ours", (1.0, 2.0), (0.1234567, 2.0)),))
    bars = Plot("Fig. 2", "", "y", (Curve("it", (0.0, 1.0), (1.0, 2.0)),), names=("a", "b"))
    table = Table("Title", rows, ["A note."], place="Fig. 1", decides="That.", plots=[drawn, bars])
    papers = [Paper("A Paper", "Somebody, 2020.", [table])]
    text = page(content_of(papers)).split("## A Paper")
    assert text[0].endswith(
        "| paper | rows | agree | do not | nothing to compare |\n"
        "| --- | ---: | ---: | ---: | ---: |\n| A Paper | 2 | 0 | 1 | 1 |\n\n"
    )
    assert text[1].splitlines() == [
        "",
        "",
        "Somebody, 2020.",
        "",
        "![A Paper: ours in the paper's axes](papers-a-paper.svg)",
        "",
        "### Title",
        "",
        "- A note.",
        "- *Decides:* That.",
        "",
        "| claim | printed | at | ours | agrees |",
        "| --- | ---: | --- | ---: | --- |",
        "| one\\|1 | 1 | Fig. 2 | 2 | no (1) |",
        "| two |  | Fig. 1 | 3 |  |",
        "",
        "(1) Because.",
    ]
    write(tmp_path, papers)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(first) == ["papers-a-paper.svg", "papers.json", "papers.md"]
    write(tmp_path, papers)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    assert json.loads(first["papers.json"])["tables"][0]["plots"][0]["curves"][0]["y"] == [
        0.12346,
        2.0,
    ]


def test_the_printed_iteration_is_that_of_the_trace(shared):
    """What is printed in Fig. 8 is in the published file, row by row."""
    name = "sketchdlc/CynthiaProtector+SketchDLC/worker_0_lenet5_full.txt"
    rows = list(rows_of((shared / name).read_text()))
    ours = list(rows_of(lenet5.text()))
    assert len(ours) == 40
    wanted = {row[:3]: (row[4] % 10**6, row[5]) for row in rows}
    assert {row[:3]: (row[4], row[5]) for row in ours if row[0] == 0} == {
        place: wanted[place] for place in wanted if place[0] == 0
    }


def test_sketchdlc_agrees_but_for_two_rows():
    tables = {table.title: table for table in sketchdlc.tables(quick=True)}
    found = [row for table in tables.values() for row in table.rows]
    assert [row.claim for row in found if row.agrees is False] == [
        "d_time of the 8 messages *gradient sent* [us]",
        "Resnet-50: confirmations, 157 of 21 B [MB]",
    ]
    assert len(tables["SketchDLC, Tables 6 and 7: lengths of messages"].rows) == 8 + 22


def test_inception_has_the_published_parameters():
    steps = list(inception_v3())
    assert sum(count for step in steps for _, count in step.parameters) == 23_817_352
    names = [name for step in steps for name, _ in step.parameters]
    assert sum(name.startswith("shift") for name in names) == 94
    assert sum(step.flops for step in steps) / 2e9 == pytest.approx(5.71, abs=0.01)


def test_saturation_by_hand():
    assert async_sgd_saturation.saturated([1.0, 2.0, 3.0, 3.2, 3.3]) == 3
    assert async_sgd_saturation.saturated([5.0, 5.0]) == 1
    assert async_sgd_saturation.saturated([1.0, 2.0, 0.5, 2.0]) == 4
    assert sum(
        count for step in async_sgd_cells.alexnet() for _, count in step.parameters
    ) == pytest.approx(61.1e6, rel=1e-3)


def test_what_an_asynchronous_run_cannot_be_compared_with():
    assert all(row.why and row.agrees is None for row in async_sgd.errors().rows)


def test_beliefs_of_figure_11():
    rows = osf_belief.strategies().rows
    assert len(rows) == 10
    assert all(row.why.startswith("Belief of ") for row in rows)
    gains = {(1.0, 1.0): 0.0, (0.5, 1.0): 0.2, (2.0, 1.0): 0.2, (4.0, 1.0): 0.9}
    assert osf_belief._turning(gains, 0.1) == (2.0, 1.0)
    assert osf_belief._turning(gains, 0.0) == (1.0, 1.0)
    assert osf_belief._turning(gains, 1.0) is None


def test_a_slow_start_is_fitted_by_the_curve():
    found = claims(osf_fit.errors())
    assert found["piecewise off, all sizes: median, worst"].agrees
    just_below, at = osf_fit.truth(osf_fit.BDP - 1), osf_fit.truth(osf_fit.BDP)
    assert just_below == pytest.approx(at, rel=1e-4)


def test_transport_of_pace():
    found = claims(pace_transport.plateau(run))
    assert found["12.5 Gbit/s at most: speed of PACE, 12.5 to 25 Gbit/s"].agrees
    assert not found["all of the bandwidth: speed of PACE, 12.5 to 25 Gbit/s"].agrees


def test_phub():
    assert all(row.agrees for row in phub.bandwidths().rows[:-1])
    money = claims(phub_money.money())
    assert money["2:1 over the baseline by Table 5 itself, future GPUs"].agrees is False
    assert money["workers of a switch beside a PBox, 2:1"].agrees
    assert [row.agrees for claim, row in money.items() if "their mean" in claim] == [True] * 3


def test_layers_of_phub_have_the_printed_sizes():
    for name, keys in phub_setup.layers().items():
        size = sum(key.bytes for key in keys) / 2**20
        assert size == pytest.approx(phub_setup.TABLE_3[name].megabytes, rel=0.01)


def test_systems_of_phub(monkeypatch):
    """With fewer transfers, which moves the figures by some percent."""
    monkeypatch.setattr(phub_training, "MOST", 600)
    monkeypatch.setattr(phub_setup, "MOST", 500)
    found = claims(phub_training.without_compute())
    assert found["PBox over Gloo's halving and doubling, 10 Gbit/s"].agrees
    assert found["8 workers over one on PBox, compute of no time"].agrees
    assert found["PBox over the baseline, compute of no time"].agrees is False


def test_the_machine_of_phub(monkeypatch):
    """Its ceiling holds with 8 workers; with 16 pulls wait, by the page of all transfers."""
    monkeypatch.setattr(phub_setup, "MOST", 1_000)
    monkeypatch.setattr(phub_machine, "COUNTS", (8, 12, 16))
    found = claims(phub_machine.ceilings())
    assert found["ceiling of PBox, 8 workers [GB/s]"].agrees
    assert found["  12, 16 workers"].agrees is False
    monkeypatch.setattr(phub_machine, "MOST", 1_000)
    assert phub_machine.chunk_sizes([2**14, 2**15, 2**16]).best_chunk_bytes == 2**15


def test_tenants_of_phub(monkeypatch):
    monkeypatch.setattr(phub_tenants, "MOST", 1_000)
    monkeypatch.setattr(phub_tenants, "COUNTS", (1, 8))
    assert all(row.ours for row in claims(phub_tenants.tenants()).values())


def test_tensors_of_pace():
    found = claims(pace_tensors.sizes())
    assert all(row.agrees is not False for row in found.values())
    assert found["tensors of less than 1 MB, Transformer"].ours == "54 %"
    assert claims(pace_tensors.idle())


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
    table = osf_belief.by_belief()
    assert [row.ours for row in table.rows] == ["0.0%", "2.9%", "7.5%"]
