"""Questions that come while others are answered: all that wait are answered together, next."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from anyio import CapacityLimiter, to_thread

Question = TypeVar("Question")


Answer = TypeVar("Answer")


class Batcher(Generic[Question, Answer]):
    """Asks the database once for many calls: a thread and a transaction for all that wait.

    A call that comes alone is asked for at once. ``work`` runs in a thread, one at a time, and
    gives an answer, or the error of that one, for each question; what it raises is everybody's.
    """

    def __init__(
        self, work: Callable[[Sequence[Question]], Sequence[Answer | Exception]], most: int
    ) -> None:
        self._work, self._most = work, most
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._turn: CapacityLimiter | None = None
        self._working: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Answer:
        """Return the answer, or raise the question's error."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((question, answer))
        if self._working is None or self._working.done():
            self._working = loop.create_task(self._answer_all())
        return await answer

    async def _answer_all(self) -> None:
        if self._turn is None:  # made in the loop that it is used in
            self._turn = CapacityLimiter(1)
        while self._waiting:
            asked = [each for each in self._waiting[: self._most] if not each[1].cancelled()]
            del self._waiting[: self._most]
            try:
                found = await to_thread.run_sync(
                    self._work, [question for question, _ in asked], limiter=self._turn
                )
            except Exception as error:  # noqa: BLE001 - it is theirs who asked
                found = [error] * len(asked)
            for (_, answer), each in zip(asked, found, strict=True):
                if answer.done():  # nobody waits any more
                    continue
                if isinstance(each, Exception):
                    answer.set_exception(each)
                else:
                    answer.set_result(each)
