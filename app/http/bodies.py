"""The bytes of a body, taken within limits of size, time and number.

A body of more than :data:`BIG_BODY_BYTES` goes to a file without a name, which a child is handed:
the server holds no more than that of any body, and parses none that is large.
"""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, TYPE_CHECKING, Annotated

from anyio import CapacityLimiter, move_on_after, to_thread
from fastapi import Depends, Request

from app.errors import (
    IncompleteBody,
    RequestTimeout,
    StorageUnavailable,
    TooLarge,
    UnsupportedMediaType,
)
from app.limits import (
    BIG_BODY_BYTES,
    MAX_PAUSE_S,
    MAX_PLAIN_BYTES,
    MAX_REPORT_BYTES,
    MAX_RUN_BYTES,
    MAX_WORD_BYTES,
    MIN_BODY_RATE,
    SMALL_BODY_BYTES,
)

if TYPE_CHECKING:
    from app.operations.owner_turns import OwnerTurns

_CHARSET = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)


class HeldBody(bytearray):
    """A body, held until it is let go or the answer is sent; one with a ``file`` is empty itself.

    ``is_small`` tells that the server may parse it.
    """

    def __init__(self, turn: AsyncExitStack) -> None:
        super().__init__()
        self._turn = turn
        self.file: IO[bytes] | None = None

    @property
    def is_small(self) -> bool:
        """Whether parsing it keeps nobody waiting."""
        return self.file is None and len(self) <= SMALL_BODY_BYTES

    async def release(self) -> None:
        """Forget it, and let others have their turn."""
        self.clear()
        await self._turn.aclose()


def _json_of(most: int | None) -> Callable[[Request], AsyncIterator[HeldBody]]:
    """Return what reads a JSON body of so many bytes at most; None is the setting's limit."""

    async def body_of(request: Request) -> AsyncIterator[HeldBody]:
        """Read a JSON body, and hold it until the answer is sent; see :func:`_held`.

        One whose content type is not said is taken for JSON.
        """
        header = request.headers.get("content-type", "")
        kind = header.partition(";")[0].strip().lower()
        is_json = kind == "application/json" or (
            kind.startswith("application/") and kind.endswith("+json")
        )
        if kind and not is_json:
            detail = f"The body must be sent as application/json, not {kind}."
            raise UnsupportedMediaType(detail)
        charset = _CHARSET.search(header)
        if charset and charset[1].lower() not in {"utf-8", "utf8"}:
            raise UnsupportedMediaType(f"The body must be UTF-8, not {charset[1]!r}.")
        coding = request.headers.get("content-encoding", "identity").strip().lower()
        if coding != "identity":
            raise UnsupportedMediaType("The body must be sent without a Content-Encoding.")
        async with _held(request, most) as body:
            yield body

    return body_of


async def files_of(request: Request) -> AsyncIterator[HeldBody]:
    """Take a body that is a file or a form, and hold it until the answer is sent."""
    async with _held(request, None) as body:
        yield body


@asynccontextmanager
async def _held(request: Request, most: int | None) -> AsyncIterator[HeldBody]:
    """Take a body up to a limit, and hold it until the answer is sent.

    A body that says itself that it is too long is not read. What comes beyond the limit is read
    and forgotten, up to as much again, so that a client that writes before it listens hears the
    answer. A body of more than :data:`BIG_BODY_BYTES` is read on when few others are held: owners
    take turns, and the client waits for its own.
    """
    setting = request.app.state.settings.max_body_bytes
    most = setting if most is None else min(most, setting)
    said = request.headers.get("content-length", "0")
    if said.isdecimal() and int(said) > most:
        raise TooLarge(f"The body is longer than {most} bytes.")
    length = 0
    async with AsyncExitStack() as held:
        body = HeldBody(held)
        async for chunk in _chunks(request):
            length += len(chunk)
            if length > 2 * most:
                break
            if length > most:
                continue
            body += chunk
            if len(body) > BIG_BODY_BYTES:
                if body.file is None:
                    turns: OwnerTurns = request.app.state.bodies
                    await held.enter_async_context(turns.turn(request.state.caller))
                    body.file = held.enter_context(_new_file())
                await _spill(body, request.app.state.spills)
        if length > most:
            raise TooLarge(f"The body is longer than {most} bytes.")
        if body.file is not None:
            await _spill(body, request.app.state.spills)
        yield body


def _new_file() -> IO[bytes]:
    """Return a file that nobody else sees, and that is gone with the server."""
    try:
        return TemporaryFile()
    except OSError as error:
        raise StorageUnavailable(f"No room for the body: {error.strerror}.") from None


async def _spill(body: HeldBody, turns: CapacityLimiter) -> None:
    """Write to its file what is held of a body."""
    assert body.file is not None, "only large bodies have one"
    content = bytes(body)
    body.clear()

    def write(file: IO[bytes]) -> None:
        file.write(content)
        file.flush()

    try:
        await to_thread.run_sync(write, body.file, limiter=turns)
    except OSError as error:
        raise StorageUnavailable(f"No room for the body: {error.strerror}.") from None


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    """Yield a body as it comes; what its client waits for us does not count.

    Raises
    ------
    RequestTimeout
        When the client is silent for :data:`MAX_PAUSE_S`, or slower than :data:`MIN_BODY_RATE`.
    IncompleteBody
        When it has left.
    """
    length, waited, more = 0, 0.0, True
    while more:
        began = monotonic()
        with move_on_after(
            min(MAX_PAUSE_S, MAX_PAUSE_S + length / MIN_BODY_RATE - waited)
        ) as patience:
            message = await request.receive()
        if patience.cancelled_caught:
            raise RequestTimeout(
                f"The body did not come in time: after {length:,} bytes its client was silent "
                f"for {MAX_PAUSE_S:g} s, or slower than {MIN_BODY_RATE:,} bytes/s."
            )
        if message["type"] == "http.disconnect":
            raise IncompleteBody(f"The client left after {length:,} bytes of its body.")
        waited += monotonic() - began
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
        yield message.get("body", b"")


#: A body that may hold a graph.
BodyDep = Annotated[HeldBody, Depends(_json_of(None))]


#: One that holds measurements: samples, texts, times.
PlainBodyDep = Annotated[HeldBody, Depends(_json_of(MAX_PLAIN_BYTES))]


#: One that tells of a run, of steps of it, of its end.
RunBodyDep = Annotated[HeldBody, Depends(_json_of(MAX_RUN_BYTES))]
ReportBodyDep = Annotated[HeldBody, Depends(_json_of(MAX_REPORT_BYTES))]
WordBodyDep = Annotated[HeldBody, Depends(_json_of(MAX_WORD_BYTES))]


#: Files.
FilesDep = Annotated[HeldBody, Depends(files_of)]
