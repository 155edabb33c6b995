"""Drafts of answers: what a list shows of them, and which of two is better."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from app.jobs.kinds import RANKING, SWEEP
from app.jobs.messages import DraftAnswer


class _Plan(msgspec.Struct):
    status: str
    iteration_time_us: float
    lower_bound_us: float
    gap: float | None = None  # an older server's draft does not tell it


class _Sweep(msgspec.Struct):
    cells: list[msgspec.Raw]


class _Shape(msgspec.Struct):
    name: str
    time_us: float


class _ShapeRanking(msgspec.Struct):
    best: list[_Shape]
    lower_bound_us: float | None


_PLAN, _SWEEP = msgspec.json.Decoder(_Plan), msgspec.json.Decoder(_Sweep)
_RANKING = msgspec.json.Decoder(_ShapeRanking)


def draft_of(kind: str, text: bytes) -> tuple[DraftAnswer, dict[str, Any]]:
    """Return an answer in the making as a draft, and what it says of the progress."""
    if kind == SWEEP:
        return DraftAnswer(text, {"cells": len(_SWEEP.decode(text).cells)}), {}
    if kind == RANKING:
        ranking = _RANKING.decode(text)
        best, bound = ranking.best[0], ranking.lower_bound_us
        light = {
            "shape": best.name,
            "iteration_time_us": best.time_us,
            "gap": gap_of(best.time_us, bound),
        }
        return DraftAnswer(text, light), reached(best.time_us, bound, best.name)
    plan = _PLAN.decode(text)
    light = {
        "status": plan.status,
        "iteration_time_us": plan.iteration_time_us,
        "gap": plan.gap,
    }
    return DraftAnswer(text, light), reached(plan.iteration_time_us, plan.lower_bound_us)


def reached(
    incumbent_us: float | None, lower_bound_us: float | None, incumbent: str | None = None
) -> dict[str, Any]:
    """Return what progress says of the best so far, by its name if it has one, and of the bound."""
    gap = gap_of(incumbent_us, lower_bound_us)
    found = {"incumbent_us": incumbent_us, "lower_bound_us": lower_bound_us, "gap": gap}
    return found if incumbent is None else {**found, "incumbent": incumbent}


def gap_of(time_us: float | None, lower_bound_us: float | None) -> float | None:
    """Return how far a time is above its bound; None where one of them is unknown."""
    if time_us is None or not lower_bound_us:
        return None
    return max(0.0, time_us / lower_bound_us - 1)


def is_worse(summary: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether a draft is worse than another, by what a list shows of both."""
    if "cells" in summary:
        return bool(summary["cells"] < other.get("cells", 0))
    return bool(summary["iteration_time_us"] > other.get("iteration_time_us", math.inf))
