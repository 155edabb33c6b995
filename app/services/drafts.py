"""A plan in the making, as answers tell it: how far it is, and what it could answer by now."""

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from app.schemas.explanations import UNEXPLAINED
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest
from app.services.plan_answer import plan_answer
from solver.planning.progress import POLICIES, PlanProgress
from solver.planning.result import Plan

#: The phases that follow the solver's.
WHAT_IF, EXPLANATION = "what_if", "explanation"


class Follower(Protocol):
    """Follows a plan while it is made; called by the thread that makes it."""

    def progress(
        self,
        phase: str,
        completed: int | None,
        total: int | None,
        incumbent_us: float | None,
        lower_bound_us: float | None,
    ) -> None:
        """Take note of how far it is: steps done of a phase, plan in hand and bound [us]."""

    def draft(self, text_of: Callable[[], str]) -> None:
        """Take note that a better answer could be given, or one with a better bound.

        ``text_of`` makes its JSON text, of a whole :class:`app.schemas.plans.Answer` that has no
        explanation, what-if or OSF. Any thread may call it, at any time; it simulates once at most.
        """


class Following(PlanProgress):
    """Tells a follower what the solver tells."""

    def __init__(
        self, problem: CheckedRequest[PlanRequest], began: float, follower: Follower
    ) -> None:
        self._problem = problem
        self._began = began
        self._follower = follower
        self._at: tuple[str, int | None, int | None] = (POLICIES, None, None)
        self._bound: float | None = None
        self._incumbent: float | None = None
        self._draft: Callable[[], Plan] | None = None

    def phase(self, name: str, completed: int | None = None, total: int | None = None) -> None:
        """Pass it on."""
        self._at = (name, completed, total)
        self._report()

    def bound(self, value_us: float) -> None:
        """Pass it on; what is in hand can be stated with it."""
        self._bound = value_us
        self._redraft()

    def incumbent(self, value_us: float, draft: Callable[[], Plan]) -> None:
        """Pass it on."""
        self._incumbent, self._draft = value_us, draft
        self._redraft()

    def _redraft(self) -> None:
        if self._draft:
            self._follower.draft(partial(self._text, self._draft))
        self._report()

    def _report(self) -> None:
        known = [value for value in (self._bound, self._incumbent) if value is not None]
        self._follower.progress(*self._at, self._incumbent, min(known, default=None))

    def _text(self, draft: Callable[[], Plan]) -> str:
        runtime = round(time.perf_counter() - self._began, 6)
        answer = plan_answer(self._problem, draft(), UNEXPLAINED, None, None, runtime)
        return answer.model_dump_json()
