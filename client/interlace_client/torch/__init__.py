"""Plans that run: PyTorch training whose gradients travel as planned.

Needs PyTorch 2.4 or newer (``interlace-client[torch]``).
"""

from __future__ import annotations

import warnings
from typing import Any

from interlace_client.torch.advice import PlanAdvice, make_plan
from interlace_client.torch.calibration import (
    Calibration,
    Recheck,
    calibrate,
    recheck,
    sizes_up_to,
)
from interlace_client.torch.drift import Steering
from interlace_client.torch.planner import NoAnswer, Planner
from interlace_client.torch.plans import BucketPlan, UnusablePlan, read_plan, whole_buckets
from interlace_client.torch.runtime.planned import PlannedDDP
from interlace_client.torch.trial import ArmTimes, Trial, TrialOutcome, WindowTimes, measure_window

__all__ = [
    "ArmTimes",
    "BucketPlan",
    "Calibration",
    "NoAnswer",
    "PlanAdvice",
    "PlannedDDP",
    "Planner",
    "Recheck",
    "Steering",
    "Trial",
    "TrialOutcome",
    "UnusablePlan",
    "WindowTimes",
    "calibrate",
    "make_plan",
    "measure_window",
    "read_plan",
    "recheck",
    "sizes_up_to",
    "whole_buckets",
]

#: What is called otherwise since 0.1.0, for one release.
_RENAMED = {"Advice": PlanAdvice, "InvalidPlan": UnusablePlan}


def __getattr__(name: str) -> Any:
    """Find what was renamed, with a warning."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    now = _RENAMED[name]
    warnings.warn(f"{name} is {now.__name__} now", DeprecationWarning, stacklevel=2)
    return now
