"""What a call says in its query: every name must be one that the call knows."""

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant

from app.errors import InvalidRequest
from solver.codes import FaultCode
from solver.errors import Fault
from solver.wording import meant


def _names(part: Dependant) -> Iterator[str]:
    yield from (field.alias for field in part.query_params)
    for each in part.dependencies:
        yield from _names(each)


def unknown_parameters(request: Request) -> list[Fault]:
    """Find the names of a query that its call does not know; a typo would change the answer."""
    known = sorted(set(_names(request.scope["route"].dependant)))
    faults = []
    for name in dict.fromkeys(request.query_params):
        if name in known:
            continue
        near = meant(name, known) or f" It has {', '.join(known) or 'none'}."
        detail = f"Query parameter {name} is not one of this call.{near}"
        faults.append(Fault(f"/query/{name}", FaultCode.EXTRA_FIELD, detail))
    return faults


async def refuse_unknown_parameters(request: Request) -> None:
    """Refuse a call whose query has a name that it does not know.

    Raises
    ------
    InvalidRequest
        With a fault for each such name.
    """
    if request.query_params and (faults := unknown_parameters(request)):
        raise InvalidRequest(faults)
