"""The children that answer calls: whose turn it is, for how long, and how they end."""

import asyncio
import logging
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from typing import IO, Any, TypeVar

from anyio import CancelScope, CapacityLimiter, fail_after, to_thread

from app.calls.messages import Call, CallResult
from app.children.process import GONE_S, Child, bury, fork, kill, reason
from app.children.processor_time import processor_s
from app.errors import NoTurn, StorageUnavailable, TimeLimit, WorkerDied, WorkersUnavailable
from app.limits import MAX_TURN_S
from app.operations.callers import NOBODY
from app.operations.owner_turns import OwnerTurns
from app.operations.settings import Settings
from app.storage.quotas import StoredUsage

_LOG = logging.getLogger("interlace.calls")


Result = TypeVar("Result")


class Children:
    """Processes that work out what calls wait for, each one call at a time.

    A call has :data:`MAX_TURN_S` to get its turn, and then the setting's time to be worked on. One
    whose client leaves, or whose time is over, is ended by killing its process.

    Parameters
    ----------
    settings
        What a child may take.
    at_once
        So many are at work, and one more of an owner that has none; other calls wait, without a
        thread, and owners take turns (:mod:`app.operations.owner_turns`).
    usage
        Counts the time of each owner's calls, and refuses an owner who has used up his.
    serve
        What each does, by reference.
    """

    def __init__(
        self,
        settings: Settings,
        at_once: int,
        usage: StoredUsage,
        serve: str = "app.calls.process:serve",
    ) -> None:
        self._serve, self._usage = serve, usage
        self._settings, self._limit_s = settings, settings.answer_limit_s
        self._turns = OwnerTurns(at_once)
        self._threads = CapacityLimiter(4 * at_once)
        self._idle: list[Child] = []
        self._context = multiprocessing.get_context("forkserver")
        self._is_closed = False

    async def work(self, call: Call, file: IO[bytes] | None = None) -> Any:
        """Return what a call gives, or why not: what its ``work`` returns, or ``Refused``.

        Cancelled, it ends at once, and so does the work.

        Raises
        ------
        QuotaUsedUp
            When the caller has had his processor time of today.
        NoTurn
            When other calls took all turns for too long.
        TimeLimit
            When the work took too long.
        WorkerDied
            When its process did.
        WorkersUnavailable
            When none can be started.
        """
        caller = call.caller or NOBODY
        owner = caller.owner
        if caller.quotas.solving_s is not None:
            await self._threaded(self._usage.check_solving, caller)
        try:
            with fail_after(MAX_TURN_S):
                await self._turns.acquire(owner, caller.quotas.weight, caller.team)
        except TimeoutError:
            detail = "Other calls keep all processes that answer such calls; try again later."
            raise NoTurn(detail) from None
        spent = _Spent()
        try:
            return await self._worked(call, file, spent)
        finally:
            self._turns.release(owner, spent.seconds, caller.team)
            if call.caller is not None and self._usage.called(owner, spent.seconds):
                with CancelScope(shield=True):
                    await self._threaded(self._write_down, owner)

    def _write_down(self, owner: str) -> None:
        try:
            self._usage.write_down(owner)
        except StorageUnavailable as error:
            _LOG.warning("The time of calls was not counted: %s", error)

    async def _worked(self, call: Call, file: IO[bytes] | None, spent: "_Spent") -> Any:
        child = await self._child()
        spent.begin(child)
        is_done = False
        try:
            with fail_after(self._limit_s):
                told, content = await self._asked(child, call, file)
            is_done = not told.is_last
        except TimeoutError:
            detail = (
                f"The answer took more than {self._limit_s:g} s (INTERLACE_ANSWER_LIMIT_S); ask "
                "for less at once."
            )
            raise TimeLimit(detail) from None
        except (EOFError, OSError):
            with CancelScope(shield=True):
                how = await self._threaded(reason, child, GONE_S)
            _LOG.warning("The process of a call ended %s", how)
            raise WorkerDied(f"The process that worked out the answer ended {how}.") from None
        finally:
            spent.end(child)
            if is_done and not self._is_closed:
                self._idle.append(child)
            else:
                kill(child)
                with CancelScope(shield=True):
                    await self._threaded(bury, child)
        return told.result._replace(content=content) if told.has_content else told.result

    async def _child(self) -> Child:
        """Return a child that waits for a call, or a new one."""
        while self._idle:
            child = self._idle.pop()
            if child.process.is_alive() and not child.pipe.poll():
                return child
            await self._threaded(bury, child)
        try:
            return await self._threaded(fork, self._context, self._settings, self._serve)
        except (OSError, EOFError) as error:
            _LOG.warning("No process for a call can be started: %s", error)
            detail = "No process can be started for the answer; the log says why."
            raise WorkersUnavailable(detail) from None

    async def _asked(
        self, child: Child, call: Call, file: IO[bytes] | None
    ) -> tuple[CallResult, bytes]:
        pid = child.process.pid
        assert pid is not None, "it was started"

        def send() -> None:
            child.pipe.send(call)
            if file is not None:
                send_handle(child.pipe, file.fileno(), pid)

        def receive() -> tuple[CallResult, bytes]:
            told: CallResult = child.pipe.recv()
            return told, child.pipe.recv_bytes() if told.has_content else b""

        await self._abandoned(send)
        await _readable(child.pipe)
        return await self._abandoned(receive)

    async def _threaded(self, what: Callable[..., Result], *given: Any) -> Result:
        return await to_thread.run_sync(what, *given, limiter=self._threads)

    async def _abandoned(self, what: Callable[[], Result]) -> Result:
        """Do it in a thread that is left alone when nobody waits: the child's end ends it too."""
        return await to_thread.run_sync(what, limiter=self._threads, abandon_on_cancel=True)

    def close(self) -> None:
        """End all children that wait; those at work end with their calls."""
        self._is_closed = True
        while self._idle:
            child = self._idle.pop()
            kill(child)
            bury(child)


class _Spent:
    """The processor time of a turn [s]; of a process that has gone, how long it was at work."""

    def __init__(self) -> None:
        self.seconds = self._used_s = self._since = 0.0

    def begin(self, child: Child) -> None:
        """Note when a child gets its call."""
        self._since, self._used_s = time.monotonic(), processor_s(child.process.pid) or 0.0

    def end(self, child: Child) -> None:
        """Note what it took."""
        used = processor_s(child.process.pid)
        took_s = time.monotonic() - self._since
        self.seconds = took_s if used is None else max(0.0, used - self._used_s)


async def _readable(pipe: Connection) -> None:
    """Wait until a child says something, or has ended."""
    loop = asyncio.get_running_loop()
    said: asyncio.Future[None] = loop.create_future()

    def hear() -> None:
        if not said.done():
            said.set_result(None)

    loop.add_reader(pipe.fileno(), hear)
    try:
        await said
    finally:
        loop.remove_reader(pipe.fileno())
