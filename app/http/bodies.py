"""The bytes of a body, read within limits of size, time and number."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import Annotated, NamedTuple

from anyio import move_on_after
from fastapi import Depends, Request
from python_multipart.multipart import parse_options_header
from starlette.formparsers import MultiPartException, MultiPartParser

from app.errors import IncompleteBody, NotMultipart, RequestTimeout, TooLarge, UnsupportedMediaType
from app.limits import BIG_BODY_BYTES, MAX_FILES, MAX_PAUSE_S, MIN_BODY_RATE

_CHARSET = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)


class HeldBody(bytearray):
    """A body, held until it is let go or the answer is sent; see :func:`_held`."""

    def __init__(self, turn: AsyncExitStack) -> None:
        super().__init__()
        self._turn = turn

    async def release(self) -> None:
        """Forget it, and let others have their turn."""
        self.clear()
        await self._turn.aclose()


class Upload(NamedTuple):
    """Files as they arrived, and the parameters of the model if the form has them."""

    files: list[bytes]
    parameters: str | None
    body: HeldBody

    async def release(self) -> None:
        """Forget them, and let others have their turn."""
        self.files.clear()
        await self.body.release()


async def body_of(request: Request) -> AsyncIterator[HeldBody]:
    """Read a JSON body, and hold it until the answer is sent; see :func:`_held`."""
    header = request.headers.get("content-type", "")
    kind = header.partition(";")[0].strip().lower()
    if kind != "application/json" and not (
        kind.startswith("application/") and kind.endswith("+json")
    ):
        raise UnsupportedMediaType("The body must be sent as application/json.")
    charset = _CHARSET.search(header)
    if charset and charset[1].lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"The body must be UTF-8, not {charset[1]!r}.")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise UnsupportedMediaType("The body must be sent without a Content-Encoding.")
    async with _held(request) as body:
        yield body


async def files_of(request: Request) -> AsyncIterator[Upload]:
    """Read the files of a body, and hold them until the answer is sent; see :func:`_held`.

    The body is one file, or a multipart form: each of its files is one, and its field
    ``parameters`` stands for the query's.
    """
    async with _held(request) as body:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "multipart/form-data":
            yield Upload([bytes(body)], None, body)
            return

        async def stream() -> AsyncGenerator[bytes, None]:
            yield bytes(body)

        if not _is_closed(body, request.headers.get("content-type", "")):
            raise NotMultipart("The body is not a multipart form: its last boundary is missing.")
        try:
            form = await MultiPartParser(request.headers, stream(), max_files=MAX_FILES).parse()
        except (MultiPartException, KeyError) as error:
            detail = getattr(error, "message", None) or "it has no boundary"
            raise NotMultipart(f"The body is not a multipart form: {detail}.") from None
        try:
            files, text = [], None
            for name, value in form.multi_items():
                held = value if isinstance(value, str) else await value.read()
                if name == "parameters":
                    text = held if isinstance(held, str) else held.decode("utf-8", "replace")
                elif isinstance(held, bytes):
                    files.append(held)
            upload = Upload(files, text, body)
        finally:
            await form.close()
        yield upload


def _is_closed(body: bytearray, header: str) -> bool:
    """Tell whether a form has not lost its end on the way."""
    boundary = parse_options_header(header)[1].get(b"boundary", b"")
    return body[-len(boundary) - 64 :].rstrip().endswith(b"--" + boundary + b"--")


@asynccontextmanager
async def _held(request: Request) -> AsyncIterator[HeldBody]:
    """Read a body up to the limit, and hold it until the answer is sent.

    A body that says itself that it is too long is not read. What comes beyond the limit is read
    and forgotten, up to as much again, so that a client that writes before it listens hears the
    answer. A body of more than :data:`BIG_BODY_BYTES` is read on when few others are held; until
    then its client waits.
    """
    most = request.app.state.settings.max_body_bytes
    said = request.headers.get("content-length", "0")
    if said.isdecimal() and int(said) > most:
        raise TooLarge(f"The body is longer than {most} bytes.")
    length, is_big = 0, False
    async with AsyncExitStack() as held:
        body = HeldBody(held)
        async for chunk in _chunks(request):
            length += len(chunk)
            if length > 2 * most:
                break
            if length > BIG_BODY_BYTES and not is_big:
                await held.enter_async_context(request.app.state.bodies)
                is_big = True
            if length <= most:
                body += chunk
        if length > most:
            raise TooLarge(f"The body is longer than {most} bytes.")
        yield body


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


BodyDep = Annotated[HeldBody, Depends(body_of)]


FilesDep = Annotated[Upload, Depends(files_of)]
