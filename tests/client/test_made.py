"""Modules of the client that are made, and how."""

import json
import re
from dataclasses import fields
from types import ModuleType
from typing import Any

import pytest

from app.write_client import answers, blocking, problems
from app.write_client.answer_classes import ANSWERS
from interlace_client import Baseline, Failure, Fault, Plan, Progress, Run, Sweep, ThroughputRow
from tests.app.service import ROOT

DOCUMENT = json.loads((ROOT / "openapi/openapi.json").read_text("utf-8"))
RUN = dict(
    dict(id="1", name="vgg", state="ended", workers=4, barrier=True, runtime="x", steps=1),
    **dict(created_at="t", reported_at="t", ended_at="t", ended_why="finished", last_step=7),
)


@pytest.mark.parametrize("writer", [problems, answers, blocking])
def test_what_is_made_is_on_disk(writer: ModuleType) -> None:
    assert (ROOT / writer.MODULE).read_text("utf-8") == writer.module(), "stale: run make openapi"


def test_nothing_of_asyncio_is_left() -> None:
    made = blocking.module().replace("Made of the client for asyncio", "")
    assert not re.search("async|await", made, re.IGNORECASE)


def test_words_are_replaced_where_they_are_names() -> None:
    text = "".join(blocking._SENTENCES) + (
        'async def aclose(self) -> None:  # async\n    await asyncio.sleep(await n("await"))\n'
    )
    assert blocking.blocking(text).endswith(
        'def close(self) -> None:  # async\n    time.sleep(n("await"))\n'
    )


def test_sentence_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"Once in .*async_client"):
        blocking.blocking("import asyncio\n")


@pytest.mark.parametrize("each", ANSWERS, ids=lambda each: each.name)
def test_every_component_has_each_field_that_is_always_there(each: Any) -> None:
    """What a list has of a class may be less, and what may be left out is marked."""
    for name in each.components.split():
        there = set(DOCUMENT["components"]["schemas"][name]["properties"])
        sure = {word.rstrip("!") for word in each.fields.split() if not word.endswith("?")}
        assert {each.places.get(word, word).partition("/")[0] for word in sure - {"raw"}} <= there


def test_class_says_what_the_document_says() -> None:
    made = {each.name: each for each in fields(Baseline)}
    assert made["headroom"].type == "float | None"
    assert (made["barrier"].type, made["barrier"].default) == ("bool", False)
    assert made["parameters"].type == "Mapping[str, float]"
    assert "None where the policy is not defined: ``pace`` off its class." in Baseline.__doc__
    assert "The rule that was broken.\n" in Fault.__doc__


def test_what_may_be_left_out() -> None:
    assert Baseline.of({"policy": "ddp", "iteration_time_us": 2.0, "speedup": None}) == Baseline(
        "ddp", 2.0, None, None, barrier=False, parameters={}
    )
    assert Failure.of({"status": 500, "code": "crash", "detail": "No."}).faults == ()
    assert Progress.of({"id": "1", "state": "queued", "progress": None}) == Progress("1", "queued")


def test_no_answer_yet() -> None:
    assert Plan.of({"id": "1", "state": "running", "iteration_time_us": None}) is None
    assert Sweep.of({"id": "1", "state": "succeeded", "cells": 12}) is None  # of a list


def test_run_of_a_list_and_whole() -> None:
    brief = Run.of({**RUN, "plans": 1})
    assert (brief.plans, brief.history, brief.every, brief.error) == ((), (), 1, None)
    assert brief.has_ended
    step = {"step": 7, "plan": 0, "measured_us": 2.0, "predicted_us": 1.0}
    raw = {**RUN, "state": "running", "plans": [], "history": [step], "every": 2, "newer": 0}
    whole = Run.of(raw)
    assert not whole.has_ended
    assert (whole.every, whole.history[0].predicted_us, whole.raw) == (2, 1.0, raw)


def test_rows_as_a_mapping() -> None:
    figures = {each.name: 1.0 for each in fields(ThroughputRow)}
    used = [{"resource": "worker", "share": 0.5}, {"resource": "links", "share": 0.25}]
    gain = [{"resource": "links", "factor": 2.0, "gain": 0.1, "examples_per_s": 3.0}]
    row = ThroughputRow.of({**figures, "utilisation": used, "what_if": gain})
    assert (row.utilisation, row.gains) == ({"worker": 0.5, "links": 0.25}, {"links": 0.1})
