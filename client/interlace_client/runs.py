"""Runs of the service: training jobs that execute plans, and what their steps took.

Times are microseconds; what is not known is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from interlace_client.results import Json, picked


@dataclass(frozen=True)
class Step:
    """One step of a run, as it is reported and as it is told.

    Attributes
    ----------
    step
        Its number; ascending, with gaps if not all are reported.
    plan
        Index of the plan that it was executed under.
    measured_us
        What it took [us].
    predicted_us
        What it should have taken [us]; None when it is reported: what its plan predicts.
    ready_spread_us
        Between the first and the last worker that was ready [us].
    note
        What is worth knowing of it.
    """

    step: int
    plan: int
    measured_us: float
    predicted_us: float | None = None
    ready_spread_us: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class PredictionError:
    """How far predictions were off: abs(predicted / measured - 1), and 95 % no further than p95."""

    median: float
    p95: float


@dataclass(frozen=True)
class RunPlan:
    """A plan of a run; how its steps went is None where that was not asked for, or without any."""

    index: int
    from_step: int
    why: str
    plan_id: str | None
    predicted_us: float
    buckets: int
    launches: int
    steps: int | None = None
    measured_us: float | None = None
    error: PredictionError | None = None

    @classmethod
    def of(cls, raw: Json) -> RunPlan:
        """Read a plan, with its steps or without."""
        return picked(cls, raw, error=_error(raw))


@dataclass(frozen=True)
class Run:
    """A run as the service told it last; times of day are ISO 8601, ``raw`` is the whole object.

    A list has neither plans nor history. Of a long run ``history`` has every second step when
    ``every`` is 2, and so on.
    """

    id: str
    name: str
    state: str
    workers: int
    barrier: bool
    runtime: str
    created_at: str
    reported_at: str
    ended_at: str | None
    ended_why: str | None
    steps: int
    last_step: int | None
    raw: Json = field(repr=False, compare=False)
    error: PredictionError | None = None
    plans: tuple[RunPlan, ...] = ()
    every: int = 1
    history: tuple[Step, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will be added to it."""
        return self.state == "ended"

    @classmethod
    def of(cls, raw: Json) -> Run:
        """Read a run, whole or as a list has it."""
        whole = {}
        if isinstance(raw["plans"], list):
            whole = {
                "plans": tuple(RunPlan.of(each) for each in raw["plans"]),
                "history": tuple(picked(Step, each) for each in raw["history"]),
            }
        return picked(cls, raw, **{"raw": raw, "plans": (), "error": _error(raw), **whole})


@dataclass(frozen=True)
class RunPage:
    """Runs of a list, the newest first, and the cursor of the next page; None on the last."""

    runs: tuple[Run, ...]
    next_cursor: str | None

    @classmethod
    def of(cls, raw: Json) -> RunPage:
        """Read a list."""
        return cls(tuple(Run.of(each) for each in raw["runs"]), raw.get("next_cursor"))


def _error(raw: Json) -> PredictionError | None:
    error = raw.get("error")
    return picked(PredictionError, error) if error else None
