"""What routers are given: the store, whose turn it is to use a thread, and the bytes of a body."""

import re
from typing import Annotated

from anyio import CapacityLimiter
from fastapi import Depends, Request

from app.errors import TooLarge, UnsupportedMediaType
from app.storage import Store

_CHARSET = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)


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


async def body_of(request: Request) -> bytes:
    """Read a JSON body up to the limit.

    What comes beyond the limit is read and forgotten, up to as much again, so that a client that
    writes before it listens hears the answer.
    """
    header = request.headers.get("content-type", "")
    kind = header.partition(";")[0].strip().lower()
    if kind != "application/json" and not (
        kind.startswith("application/") and kind.endswith("+json")
    ):
        raise UnsupportedMediaType("The body must be sent as application/json.")
    charset = _CHARSET.search(header)
    if charset and charset[1].lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType(f"The body must be UTF-8, not {charset[1]!r}.")
    most = request.app.state.settings.max_body_bytes
    body, length = bytearray(), 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > 2 * most:
            break
        if length <= most:
            body += chunk
    if length > most:
        raise TooLarge(f"The body is longer than {most} bytes.")
    return bytes(body)


StoreDep = Annotated[Store, Depends(store_of)]
SolvesDep = Annotated[CapacityLimiter, Depends(solves_of)]
ChecksDep = Annotated[CapacityLimiter, Depends(checks_of)]
BodyDep = Annotated[bytes, Depends(body_of)]
