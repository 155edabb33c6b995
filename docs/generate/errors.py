"""The codes of problems: status, sort and sentence of each."""

import re
from typing import NamedTuple

from docs.generate.api import api
from docs.generate.markdown import table
from interlace_client.problems import PROBLEMS


class Code(NamedTuple):
    """One code, and what is said of it."""

    code: str
    statuses: tuple[int, ...]
    sentence: str
    #: What the client makes of it: Temporary, JobFailed or Refused.
    sort: str


def errors() -> str:
    """Write a table of all codes, by status."""
    rows = [
        (", ".join(map(str, each.statuses)), f"`{each.code}`", each.sentence, each.sort)
        for each in sorted(codes(), key=lambda each: (each.statuses, each.code))
    ]
    return table(["status", "code", "meaning", "the client's sort"], rows)


def codes() -> list[Code]:
    """Return every code that the service may answer with."""
    statuses = _statuses()
    return [
        Code(
            code,
            tuple(sorted(statuses.get(code, {422}))),
            _sentence(kind),
            kind.__mro__[1].__name__,
        )
        for code, kind in PROBLEMS.items()
    ]


def _sentence(kind: type) -> str:
    return " ".join((kind.__doc__ or "").split())


def _statuses() -> dict[str, set[int]]:
    """Return the statuses under which the OpenAPI document names each code."""
    found: dict[str, set[int]] = {}
    for path in api()["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                for code in re.findall(r"`(\w+)`", response["description"]):
                    found.setdefault(code, set()).add(int(status))
    return found
