"""What routers are given: the store, whose turn it is to use a thread, and the bytes of a body."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, NamedTuple

from anyio import CapacityLimiter
from fastapi import Depends, Query, Request
from python_multipart.multipart import parse_options_header
from starlette.formparsers import MultiPartException, MultiPartParser

from app.errors import NotMultipart, TooLarge, UnsupportedMediaType
from app.storage import Store

#: Longer bodies are held by a few requests at a time [bytes].
BIG = 2**20
#: Most results in a list.
MAX_LISTED = 200
#: Most files of a form.
MAX_FILES = 1_024
_CHARSET = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)


class Upload(NamedTuple):
    """Files as they arrived, and the parameters of the model if the form has them."""

    files: list[bytes]
    parameters: str | None


async def store_of(request: Request) -> Store:
    """Return the store of the running service."""
    store: Store = request.app.state.store
    return store


async def solves_of(request: Request) -> CapacityLimiter:
    """Return the turns of those who plan; the others wait without a thread."""
    turns: CapacityLimiter = request.app.state.solves
    return turns


async def checks_of(request: Request) -> CapacityLimiter:
    """Return the turns of those who ask whether the service is ready."""
    turns: CapacityLimiter = request.app.state.checks
    return turns


async def body_of(request: Request) -> AsyncIterator[bytearray]:
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
            yield Upload([bytes(body)], None)
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
            upload = Upload(files, text)
        finally:
            await form.close()
        yield upload


def _is_closed(body: bytearray, header: str) -> bool:
    """Tell whether a form has not lost its end on the way."""
    boundary = parse_options_header(header)[1].get(b"boundary", b"")
    return body[-len(boundary) - 64 :].rstrip().endswith(b"--" + boundary + b"--")


@asynccontextmanager
async def _held(request: Request) -> AsyncIterator[bytearray]:
    """Read a body up to the limit, and hold it until the answer is sent.

    What comes beyond the limit is read and forgotten, up to as much again, so that a client that
    writes before it listens hears the answer. A body of more than :data:`BIG` bytes is read on
    when few others are held; until then its client waits.
    """
    most = request.app.state.settings.max_body_bytes
    body, length, is_big = bytearray(), 0, False
    async with AsyncExitStack() as held:
        async for chunk in request.stream():
            length += len(chunk)
            if length > 2 * most:
                break
            if length > BIG and not is_big:
                await held.enter_async_context(request.app.state.bodies)
                is_big = True
            if length <= most:
                body += chunk
        if length > most:
            raise TooLarge(f"The body is longer than {most} bytes.")
        yield body


StoreDep = Annotated[Store, Depends(store_of)]
SolvesDep = Annotated[CapacityLimiter, Depends(solves_of)]
ChecksDep = Annotated[CapacityLimiter, Depends(checks_of)]
BodyDep = Annotated[bytearray, Depends(body_of)]
FilesDep = Annotated[Upload, Depends(files_of)]
ListedDep = Annotated[int, Query(ge=1, le=MAX_LISTED, description="How many are listed.")]
