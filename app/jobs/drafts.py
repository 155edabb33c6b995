"""Drafts of answers: what a list shows of them, and which of two is better."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from app.jobs.kinds import SWEEP
from app.jobs.messages import DraftAnswer


class _Plan(msgspec.Struct):
    status: str
    iteration_time_us: float
    lower_bound_us: float
    gap: float | None = None  # an older server's draft does not tell it


class _Sweep(msgspec.Struct):
    cells: list[msgspec.Raw]


_PLAN, _SWEEP = msgspec.json.Decoder(_Plan), msgspec.json.Decoder(_Sweep)


def draft_of(kind: str, text: bytes) -> tuple[DraftAnswer, dict[str, Any]]:
    """Return an answer in the making as a draft, and what it says of the progress."""
    if kind == SWEEP:
        return DraftAnswer(text, {"cells": len(_SWEEP.decode(text).cells)}), {}
    plan = _PLAN.decode(text)
    light = {
        "status": plan.status,
        "iteration_time_us": plan.iteration_time_us,
        "gap": plan.gap,
    }
    return DraftAnswer(text, light), reached(plan.iteration_time_us, plan.lower_bound_us)


def reached(incumbent_us: float | None, lower_bound_us: float | None) -> dict[str, Any]:
    """Return what progress says of the best plan so far and of the bound [us]."""
    gap = None
    if incumbent_us is not None and lower_bound_us:
        gap = max(0.0, incumbent_us / lower_bound_us - 1)
    return {"incumbent_us": incumbent_us, "lower_bound_us": lower_bound_us, "gap": gap}


def is_worse(summary: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether a draft is worse than another, by what a list shows of both."""
    if "cells" in summary:
        return bool(summary["cells"] < other.get("cells", 0))
    return bool(summary["iteration_time_us"] > other.get("iteration_time_us", math.inf))
