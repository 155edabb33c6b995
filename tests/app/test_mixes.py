"""Plans of mixes as they are asked for: in Python, by the command and over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

import interlace
from app.calls.mixes import mix as called
from app.routers.mixes import EXAMPLE
from app.schemas.mixes import MixAnswer
from tests.app.command import Run

GRAPH: dict[str, Any] = {
    "name": "step",
    "ops": [
        {"id": "b", "kind": "compute", "duration_us": 1000.0, "after": []},
        {"id": "g", "kind": "all_reduce", "bytes": 1_000_000, "after": ["b"]},
        {"id": "f", "kind": "compute", "duration_us": 500.0, "after": ["g"]},
    ],
}
CLUSTER: dict[str, Any] = {"workers": 2, "bandwidth_gbps": 10.0, "path": ["uplink"]}
STEPS: dict[str, Any] = {
    "links": {"uplink": {"capacity_gbps": 10}},
    "jobs": [
        {
            "name": name,
            "simulation": {"graph": GRAPH, "cluster": CLUSTER, "policy": "wfbp"},
            "alternatives": ["ddp"],
        }
        for name in ("x", "y")
    ],
    "iterations": 6,
    "effort": 40,
}


def test_two_jobs_that_collide_do_not_after_planning() -> None:
    answer = interlace.mix(EXAMPLE)
    assert [job.mean_us for job in answer.rules[0].jobs] == pytest.approx([810_000, 810_000])
    assert [job.mean_us for job in answer.joint.jobs] == pytest.approx([560_000, 560_000])
    assert answer.best == "cassini"
    assert {each.by for each in answer.rules[0].blames} == {"one", "two"}
    assert answer.notes[0].startswith("Proven")


def test_jobs_over_time_come_with_each_rule() -> None:
    answer = interlace.mix(EXAMPLE)
    fair, joint = answer.rules[0], answer.joint
    assert (fair.told_us, joint.told_us) == pytest.approx((810_000, 560_000))
    for own in fair.timeline:
        assert [(s.begin_us, s.end_us, s.speed) for s in own.sends] == [
            pytest.approx((250_000, 810_000, 0.5))
        ]
    slow = [s for own in joint.timeline for s in own.sends if s.speed < 1]
    assert sum(s.end_us - s.begin_us for s in slow) == pytest.approx(120_000)


def test_shifts_come_as_jobs_hold_them() -> None:
    answer = interlace.mix(EXAMPLE)
    assert answer.held is not None
    assert [own.period_us for own in answer.held.terms] == pytest.approx([588_000, 588_000])
    assert [job.mean_us for job in answer.held.jobs] == pytest.approx([588_000, 588_000])
    # both send for 280 ms: the second has 28 ms to spare, some on either side
    shift = answer.held.terms[1].offset_us - answer.held.terms[0].offset_us
    assert 280_000 <= shift <= 308_000
    assert f"two: hold_phase(offset_us={shift:.0f}, period_us=588000) holds it." in answer.advice


def test_links_without_classes_get_none() -> None:
    first, second = EXAMPLE["jobs"]
    phases = [{**second["phases"][0], "compute_us": 330_000}]  # no common period
    jobs = [first, {**second, "phases": phases}]
    answer = interlace.mix({**EXAMPLE, "jobs": jobs, "has_classes": False, "effort": 60})
    assert {own.priority for own in answer.joint.terms} == {0}
    assert [ruled.rule for ruled in answer.rules] == ["fair", "cassini"]


def test_simulations_are_those_of_their_graphs() -> None:
    answer = interlace.mix(STEPS)
    alone = interlace.simulate(GRAPH, CLUSTER | {"links": STEPS["links"]}, "wfbp").iteration_time
    assert [job.alone_us for job in answer.joint.jobs] == [alone, alone]
    assert answer.joint.mean <= answer.rules[0].mean


def test_all_say_the_same(tmp_path: Path, run: Run) -> None:
    body = json.dumps(STEPS)
    (tmp_path / "mix.json").write_text(body)
    done = run("mix", str(tmp_path / "mix.json"), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = MixAnswer.model_validate_json(done.stdout)
    assert found == interlace.mix(STEPS)
    posted = called(None, body.encode())
    assert MixAnswer.model_validate_json(posted.content) == found


def test_a_page_of_the_command(tmp_path: Path, run: Run) -> None:
    (tmp_path / "mix.json").write_text(json.dumps(EXAMPLE))
    done = run("mix", str(tmp_path / "mix.json"), "--objective", "worst")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1.528 -> 1.057" in done.stdout
    assert "two: begin 250.3 ms later." in done.stdout


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"name": "x"}, "/jobs/0/phases", "missing_field"),  # neither
    (
        {"name": "x", "phases": [{"compute_us": 1, "bytes": 1, "links": ["none"]}]},
        "/jobs/0/phases/0/links",
        "unknown_link",
    ),
    (
        {"name": "x", "phases": [{"compute_us": 1}], "alternatives": ["ddp"]},
        "/jobs/0/alternatives",
        "extra_field",  # phases have no policy
    ),
    (
        {"name": "x", "simulation": {"graph": GRAPH, "cluster": CLUSTER}},
        "/jobs/0/simulation/policy",
        "missing_field",
    ),
    ({"name": "x", "phases": [{"compute_us": 0}]}, "/jobs/0", "out_of_range"),  # takes no time
]


@pytest.mark.parametrize(("job", "pointer", "code"), REFUSED)
def test_what_is_refused(job: dict[str, Any], pointer: str, code: str) -> None:
    with pytest.raises(interlace.InterlaceError) as caught:
        interlace.mix({"links": STEPS["links"], "jobs": [job]})
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [(pointer, code)]
