"""Every code that the service can answer with has a class."""

import json
import pickle
import re
from typing import Any

import pytest

from app.codes import CODES, error_codes
from interlace_client import Fault, ProblemError, problems
from interlace_client.problems import PROBLEMS, JobFailed, Refused, Temporary
from tests.app.service import ROOT


def test_classes_are_those_of_the_codes() -> None:
    assert set(PROBLEMS) == set(CODES) == {code.word for code in error_codes()}


def test_every_code_is_raised() -> None:
    """Types let no other code through; here none is left of what went."""
    files = [file for part in ("app", "solver") for file in (ROOT / part).rglob("*.py")]
    texts = [file.read_text("utf-8") for file in files if file.name != "codes.py"]
    used = {name for text in texts for name in re.findall(r"\b(\w+Code\.[A-Z_]+)\b", text)}
    assert len(used) > 60
    assert {f"{type(code).__name__}.{code.name}" for code in CODES} == used


def test_sentences_are_sentences() -> None:
    for code in error_codes():
        assert code.sentence[0].isupper(), code
        assert code.sentence.endswith("."), code
        assert all(400 <= status < 600 for status in code.statuses)


def test_codes_of_the_document_are_known() -> None:
    for path in json.loads((ROOT / "openapi/openapi.json").read_text("utf-8"))["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                if status >= "400":
                    words = set(re.findall(r"`([^`]*)`", response["description"]))
                    example = response["content"]["application/problem+json"]["example"]
                    assert example["code"] in words <= set(CODES)


def test_classes_are_named_like_their_codes() -> None:
    assert PROBLEMS["not_json"] is problems.NotJson
    assert PROBLEMS["out_of_memory"] is problems.OutOfMemory
    assert all(issubclass(kind, (Temporary, JobFailed, Refused)) for kind in PROBLEMS.values())
    assert issubclass(problems.QueueFull, Temporary)
    assert issubclass(problems.WorkerDied, JobFailed)
    assert issubclass(problems.NotFound, Refused)


@pytest.mark.parametrize("kind", [ProblemError, problems.Cycle])
def test_problem_keeps_what_it_says(kind: Any) -> None:
    faults = (Fault("/graph/ops/1", "cycle", "Op 'a' waits for itself."),)
    error = kind(422, "cycle", "2 faults.", faults, "/v1/plans", "7")
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error)
    assert (again.faults, again.job_id, str(again)) == (faults, "7", "2 faults. (cycle, 422)")
