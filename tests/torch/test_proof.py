"""The proof kit: its short form on this machine, and what becomes of checks that fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from interlace_client.torch.proof import launching, outcomes, page, parts
from interlace_client.torch.proof.machine import ProofMachine

ROOT = Path(__file__).parents[2]
NO_GPU = ProofMachine("Linux", "3.11", "2.13", 2, None, None, ())


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    """What the command writes, and how it ended."""
    folder = tmp_path_factory.mktemp("proof")
    command = [sys.executable, "-m", "interlace_client.torch.proof", "--short", "--device", "cpu"]
    command += [
        "--limit-s",
        "86400",
        "--out",
        str(folder),
    ]  # a watchdog of pytest's ends what hangs
    path = os.pathsep.join([str(ROOT / "client"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    return done, json.loads((folder / "proof.json").read_text()), (folder / "proof.md").read_text()


@pytest.mark.parametrize("name", parts.TITLES)
def test_each_part_passes_on_a_cpu(proof, name):
    _, written, shown = proof
    (part,) = (part for part in written["parts"] if part["name"] == name)
    failed = [check for check in part["checks"] if check["status"] == "failed"]
    assert not failed, failed[0]["why"]
    assert part["status"] == "passed"
    assert f"| {name} | {part['where']} | passed |" in shown


def test_the_exit_code_says_so(proof):
    done, written, _ = proof
    assert (done.returncode, written["status"]) == (0, "passed"), done.stderr


@pytest.fixture(scope="module")
def troubled():
    """A part of two ranks whose checks end in every way."""
    part = parts.ProofPart(
        "troubled", "Troubled", "tests.torch.proof_checks", 2, "gloo", ("cpu", "cpu"), 86400.0
    )
    said: list[str] = []
    settings = launching.ProofSettings(False, None, float("inf"), said.append)
    return launching.run_part(part, settings), said


def test_a_check_that_fails_or_dies_leaves_the_others(troubled):
    part, said = troubled
    assert [check.status for check in part.checks] == [
        *("passed", "skipped", "failed", "failed", "passed")
    ]
    assert said[0] == "troubled passes: passed"
    passed, skipped, failed, dead, _ = part.checks
    assert passed.figures == {"ranks": 2}
    assert skipped.why == "There is no moon."
    assert failed.why.startswith("rank 1: ")
    assert failed.why.endswith("AssertionError: one and one are three")
    assert dead.why == "rank 1 ended with code 7."
    assert part.status == outcomes.status_of([part]) == "failed"


def test_the_page_has_the_failures(troubled):
    part, _ = troubled
    shown = page.written_page(NO_GPU, [part], {"command": "prove"})
    assert "# Proof: failed" in shown
    assert "| troubled | 2 ranks over gloo on cpu | failed | 2 | 2 | 1 |" in shown
    assert "AssertionError: one and one are three\n```" in shown


def test_no_check_begins_when_the_time_is_up():
    part = parts.ProofPart("late", "Late", "tests.torch.proof_checks", 1, "gloo", ("cpu",), 1.0)
    settings = launching.ProofSettings(False, None, float("-inf"), print)
    late = launching.run_part(part, settings)
    assert {check.why for check in late.checks} == {"There was no time left."}
    assert late.status == "skipped"


def test_a_check_under_way_when_the_time_is_up_has_not_failed():
    part = parts.ProofPart("late", "Late", "tests.torch.proof_checks", 1, "gloo", ("cpu",), 1.0)
    settings = launching.ProofSettings(False, None, float("-inf"), print)
    assert launching._run(part, ["passes"], settings) == [
        outcomes.CheckOutcome("passes", "skipped", "There was no time left.")
    ]


@pytest.mark.parametrize(
    ("gpus", "device", "is_short", "expected"),
    [
        (0, "cpu", True, [("loops", 2, "gloo"), ("several", 2, "gloo")]),
        (0, "cpu", False, [("loops", 2, "gloo"), ("loops", 4, "gloo"), ("several", 2, "gloo")]),
        (1, "cuda", True, [("loops", 2, "gloo")]),
        (3, "cuda", True, [("loops", 2, "gloo"), ("several", 3, "nccl")]),
    ],
)
def test_parts_by_what_there_is(gpus, device, is_short, expected):
    machine = ProofMachine("Linux", "3.11", "2.13", 2, "12", "2.2", ("H",) * gpus)
    made = parts.parts_on(machine, device, ["several", "loops"], is_short=is_short)
    assert [(part.name, part.ranks, part.backend) for part in made] == expected
    if gpus:
        assert set(made[0].devices) == {"cuda:0"}  # all ranks share it
    assert (parts.left_out(machine, device, "several") is None) == (gpus != 1)


def test_ranks_that_say_the_same_say_it_once():
    skipped = outcomes.CheckOutcome("one", outcomes.SKIPPED, "No GPU.")
    passed = outcomes.CheckOutcome("one", outcomes.PASSED, figures={"a": 1})
    assert outcomes.merged("one", [skipped, skipped]).why == "No GPU."
    assert outcomes.merged("one", [passed, skipped]).status == "skipped"
    assert outcomes.merged("one", [passed, skipped]).why == "rank 1: No GPU."
    assert outcomes.merged("one", [passed, passed]) == passed
