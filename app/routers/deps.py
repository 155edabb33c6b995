"""What routers are given: the store, and the checked problem of a body."""

from typing import Annotated

from fastapi import Depends, Request

from app.door import read_json, read_problem
from app.errors import TooLarge, UnsupportedMediaType
from app.problem import Problem
from app.storage import Store


def store_of(request: Request) -> Store:
    """Return the store of the running service."""
    store: Store = request.app.state.store
    return store


async def body_of(request: Request) -> bytes:
    """Read a JSON body up to the limit.

    What comes beyond the limit is read and forgotten, up to as much again, so that a client that
    writes before it listens hears the answer.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (
        kind.startswith("application/") and kind.endswith("+json")
    ):
        raise UnsupportedMediaType("The body must be sent as application/json.")
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


def problem_of(body: Annotated[bytes, Depends(body_of)]) -> Problem:
    """Check a body; in a worker thread, as it can be long."""
    return read_problem(read_json(body))


StoreDep = Annotated[Store, Depends(store_of)]
ProblemDep = Annotated[Problem, Depends(problem_of)]
