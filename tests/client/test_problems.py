"""Every code that the service can answer with has a class."""

import ast
import json
import pickle
import re
from collections.abc import Iterator
from typing import Any

import pytest

from app.http.protocol import _WRONG
from app.openapi import document
from interlace_client import Fault, ProblemError, problems
from interlace_client.problems import PROBLEMS, JobFailed, Refused, Temporary
from tests.app.service import ROOT

WORD = re.compile(r"[a-z]+(_[a-z]+)*")
#: Where a code stands, in the calls that take one.
PLACES = {"Fault": 1, "_refused": 0, "problem": 2}


def constants(node: ast.AST) -> Iterator[str]:
    """Yield the words of an expression, but not what its conditions compare with."""
    if isinstance(node, ast.IfExp):
        yield from constants(node.body)
        yield from constants(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def codes_called(node: ast.Call) -> Iterator[str]:
    """Yield what a call is given as a code."""
    called = getattr(node.func, "id", "")
    if called == "Warned":  # it refuses nothing
        return
    place = PLACES.get(called)
    if place is not None and len(node.args) > place:
        yield from constants(node.args[place])
    for keyword in node.keywords:
        if keyword.arg == "code":
            yield from constants(keyword.value)


def codes_named(target: ast.AST, value: ast.AST) -> Iterator[str]:
    """Yield what is called `code`, alone or among others."""
    if getattr(target, "id", "") == "code":
        yield from constants(value)
    if isinstance(target, ast.Tuple):
        names = [getattr(each, "id", "") for each in target.elts]
        tuples = [each for each in ast.walk(value) if isinstance(each, ast.Tuple)]
        for found in tuples if "code" in names else []:
            yield from constants(found.elts[names.index("code")])


def codes_listed(node: ast.Dict) -> Iterator[str]:
    """Yield what stands under `code`, or first under an HTTP status."""
    for key, value in zip(node.keys, node.values, strict=True):
        name = getattr(key, "value", None)
        if name == "code":
            yield from constants(value)
        elif type(name) is int and isinstance(value, ast.Tuple):
            yield from constants(value.elts[0])


def codes_in(tree: ast.AST) -> Iterator[str]:
    """Yield every code that a module writes out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from codes_called(node)
        elif isinstance(node, ast.Assign):
            yield from codes_named(node.targets[0], node.value)
        elif isinstance(node, ast.Dict):
            yield from codes_listed(node)
        elif isinstance(node, ast.FunctionDef) and node.name == "_code":
            for each in ast.walk(node):
                if isinstance(each, ast.Return) and each.value is not None:
                    yield from constants(each.value)


def codes_of_source() -> set[str]:
    files = [file for part in ("app", "solver") for file in (ROOT / part).rglob("*.py")]
    assert len(files) > 100
    of_protocol = {code for code, _ in _WRONG.values()}
    found = {code for file in files for code in codes_in(ast.parse(file.read_text("utf-8")))}
    return found | of_protocol


def codes_of_document() -> set[str]:
    """Return the words in backquotes that describe a refusal, and those of its examples."""
    found: set[str] = set()
    for path in json.loads(document())["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                if status >= "400":
                    found |= set(re.findall(r"`([^`]*)`", response["description"]))
                    found |= {
                        content["example"]["code"] for content in response["content"].values()
                    }
    return found


def test_every_code_has_a_class() -> None:
    source, told = codes_of_source(), codes_of_document()
    assert {"cycle", "not_found", "truncated", "wrong_type", "queue_full"} <= source
    assert {"too_large", "unsupported_media_type"} <= told
    found = {code for code in source | told if WORD.fullmatch(code)}
    assert found - set(PROBLEMS) == set()


def test_no_class_is_left_of_a_code_that_went() -> None:
    assert set(PROBLEMS) - codes_of_source() - codes_of_document() == set()


def test_classes_are_named_like_their_codes() -> None:
    assert PROBLEMS["not_json"] is problems.NotJson
    assert PROBLEMS["out_of_memory"] is problems.OutOfMemory
    assert all(issubclass(kind, (Temporary, JobFailed, Refused)) for kind in PROBLEMS.values())
    assert all(kind.__doc__ for kind in PROBLEMS.values())


@pytest.mark.parametrize("kind", [ProblemError, problems.Cycle])
def test_problem_keeps_what_it_says(kind: Any) -> None:
    faults = (Fault("/graph/ops/1", "cycle", "Op 'a' waits for itself."),)
    error = kind(422, "cycle", "2 faults.", faults, "/v1/plans", "7")
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error)
    assert (again.faults, again.job_id, str(again)) == (faults, "7", "2 faults. (cycle, 422)")
