"""The codes of problems: status, sort and sentence of each."""

from app.codes import ErrorCode, error_codes
from docs.generate.markdown import table
from interlace_client.problems import PROBLEMS


def errors() -> str:
    """Write a table of all codes, by status."""
    rows = [
        (", ".join(map(str, each.statuses)), f"`{each.word}`", each.sentence, _sort(each))
        for each in sorted(error_codes(), key=lambda each: (each.statuses, each.word))
    ]
    return table(["status", "code", "meaning", "the client's sort"], rows)


def _sort(code: ErrorCode) -> str:
    """Name the class of which the client's exception for a code is one."""
    return PROBLEMS[code.word].__mro__[1].__name__
