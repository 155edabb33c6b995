"""Answers that are read from the database and written by threads, the large ones in turns.

A thread that reads or writes megabytes of JSON lets nobody else on for milliseconds. With many of
them the event loop waits for each, and no thread is left for what is small.
"""

from collections.abc import Callable
from contextlib import nullcontext

from anyio import to_thread

from app.limits import LARGE_ANSWER_BYTES
from app.operations.callers import Caller
from app.operations.owner_turns import OwnerTurns


class LargeAnswers:
    """One large answer is written at a time, and one more of an owner that has none; for a loop."""

    def __init__(self) -> None:
        self._turns = OwnerTurns(1)

    async def written(
        self, size: Callable[[], int], write: Callable[[], bytes], caller: Caller | None
    ) -> bytes:
        """Return what ``write`` does, after the caller's turn when its ``size`` is large [bytes].

        Both run in threads; what they raise is raised here.
        """
        is_large = await to_thread.run_sync(size) > LARGE_ANSWER_BYTES
        async with self._turns.turn(caller) if is_large else nullcontext():
            return await to_thread.run_sync(write)
