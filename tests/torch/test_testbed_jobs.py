"""Jobs on the testbed: what is counted and predicted, and a tiny run of two."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from solver.jobs.mix import JobTerms
from tests.testbed import hosts
from tests.testbed.mixes import ALONE, FAIR, SHIFTED, counted, measured_terms, mix_of
from tests.testbed.mixes_page import gain_of, times_of, write
from tests.testbed.plans import whole
from tests.testbed.sessions import ROOT

#: Two layers, 200 us backward and 100 us forward; all 60 bytes are sent between.
GRAPH = {
    "name": "two layers",
    "ops": [
        {"id": "backward:b", "kind": "compute", "duration_us": 100.0, "stream": "worker"},
        {"id": "grad:b", "kind": "all_reduce", "bytes": 40, "after": ["backward:b"]},
        {"id": "backward:a", "kind": "compute", "duration_us": 100.0, "stream": "worker"},
        {"id": "grad:a", "kind": "all_reduce", "bytes": 20, "after": ["backward:a"]},
        {
            "id": "forward",
            "kind": "compute",
            "duration_us": 100.0,
            "stream": "worker",
            "after": ["grad:a", "grad:b"],
        },
    ],
}
JOB: dict[str, Any] = {
    "model": "two layers",
    "path": [0, 1],
    "graph": GRAPH,
    # a launch takes 11 us, and its bytes more: 1 us each on the link
    "cluster": {"workers": 2, "algorithm": "table", "table": [[1, 11.0], [1000, 1010.0]]},
    "launches": asdict(whole([["b", "a"]], {"a": 20, "b": 40}, barrier=True)),
    "forward_us": 100.0,
}
#: A link that carries a byte of payload in 1 us.
MBIT = 8 * 7306 / 7240


def said(*steps: float) -> dict[str, Any]:
    """Say what a worker says of steps that take so long."""
    ends = [0.0]
    for step in steps:
        ends.append(ends[-1] + step)
    return {"ends_us": ends, "waits": 0, "waited_us": 0.0}


def run(rule: str, terms: list[JobTerms], *rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "rule": rule,
        "steps": 4,
        "load": 1.0,
        "terms": {str(i): asdict(own) for i, own in enumerate(terms)},
        "rounds": [{str(i): each for i, each in enumerate(one)} for one in rounds],
    }


def cell(*runs: dict[str, Any]) -> dict[str, Any]:
    return {"mix": "m", "mbit": MBIT, "load": 1.0, "jobs": [JOB, JOB], "runs": list(runs)}


def test_steps_count_while_all_train_but_their_first_quarter():
    one, two = said(10.0, 20.0, 30.0, 40.0), said(50.0, 20.0, 30.0, 60.0)
    # until 100: two of the other's steps are after that, or end there
    assert counted({"0": one, "1": two}) == [[20.0, 30.0, 40.0], [50.0, 20.0, 30.0]]


def test_jobs_alone_and_beside_one_another_are_predicted_as_on_paper():
    alone = run(ALONE, [JobTerms()], [said(*[400.0] * 4)], [said(*[380.0] * 4)])
    fair = run(FAIR, [JobTerms()] * 2, [said(*[430.0] * 4), said(*[410.0] * 4)])
    first, one, two = times_of(cell(alone, fair))
    # 200 + 11 + 60 + 100; beside the other the 60 take twice as long
    assert first.predicted == pytest.approx(371)
    assert first.mean == 390
    assert [one.predicted, two.predicted] == pytest.approx([431, 431])
    assert (one.measured, two.measured) == ((430,), (410,))
    assert two.error == pytest.approx(431 / 410 - 1)


def test_a_shift_that_loses_its_place_is_counted():
    shifted = [JobTerms(0.0, 0, 371.0), JobTerms(185.0, 0, 371.0)]
    steps = [371.0] * 9 + [742.0] + [371.0] * 2
    found = cell(
        *(run(ALONE, [JobTerms()], [said(*[370.0] * 4)]) for _ in range(2)),
        run(FAIR, [JobTerms()] * 2, [said(*[444.0] * 4)] * 2),
        run(SHIFTED, shifted, [said(*[371.0] * 13), said(*steps)]),
    )
    found["runs"][1]["terms"] = {"1": asdict(JobTerms())}
    found["runs"][1]["rounds"] = [{"1": said(*[370.0] * 4)}]
    gain = gain_of(found, times_of(found))
    assert gain is not None
    assert gain.predicted == pytest.approx(1 - 371 / 431)
    assert gain.lost == 1
    assert gain.last > 1.2 > gain.first == 1.0


def test_a_page_keeps_mixes_that_were_not_measured_again(tmp_path: Path):
    runs = (
        *(run(ALONE, [JobTerms()], [said(*[370.0] * 4)]) for _ in range(2)),
        run(FAIR, [JobTerms()] * 2, [said(*[444.0] * 4)] * 2),
    )
    for runs_of_job, name in zip(runs, ("0", "1"), strict=False):
        runs_of_job["terms"] = {name: asdict(JobTerms())}
        runs_of_job["rounds"] = [{name: said(*[370.0] * 4)}]
    jobs = [JOB | {"megabytes": 1.0, "compute_ms": 1.0, "is_whole": True}] * 2
    measured = cell(*runs) | {"jobs": jobs}
    write(tmp_path, {"said": ["the first"], "cells": [measured | {"mix": "alike"}]})
    before = json.loads((tmp_path / "jobs.json").read_text())
    page = write(tmp_path, {"said": ["the second"], "cells": [measured | {"mix": "three"}]})
    after = json.loads((tmp_path / "jobs.json").read_text())
    assert after["said"] == ["the first", "Measured later: three.", "the second"]
    assert after["times"][: len(before["times"])] == before["times"]
    assert [mix["mix"] for mix in after["mixes"]] == ["alike", "three"]
    assert page.count("| three | ") == page.count("| alike | ") == 4
    write(tmp_path, {"said": ["the third"], "cells": [measured | {"mix": "alike"}]})
    again = json.loads((tmp_path / "jobs.json").read_text())
    assert [mix["mix"] for mix in again["mixes"]] == ["three", "alike"]


def test_terms_that_are_measured_hold_the_shift_of_the_plan():
    terms = measured_terms(mix_of(cell()))
    assert list(terms) == [FAIR, SHIFTED]  # equal jobs have one class
    one, two = terms[SHIFTED]
    assert one.period_us == two.period_us == pytest.approx(371 * 1.05)
    assert 70 <= two.offset_us - one.offset_us <= 300


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the page of two jobs on a link: the least of all."""
    if why := hosts.why_no_namespaces():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("jobs")
    command = [sys.executable, "-m", "tests.testbed", "--parts", "jobs", "--mixes", "alike"]
    command += ["--mix-steps", "4", "--shifted-steps", "8", "--calibration-s", "1"]
    command += ["--kept", str(folder / "kept.json"), "--out", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_run_leaves_a_page(page: Path):
    content = json.loads((page / "jobs.json").read_text())
    assert [time["rule"] for time in content["times"]][:4] == [ALONE, ALONE, FAIR, FAIR]
    for time in content["times"]:
        assert len(time["measured"]) == 2
        assert min(time["measured"]) > 126_000 < time["predicted"]
    (gain,) = content["shifts"]
    assert gain["predicted"] > 0
    # what each job is, its steps, and the shift of both
    assert (page / "jobs.md").read_text().count("| alike | ") == 5
