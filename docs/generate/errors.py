"""The codes of problems: status, sort and sentence of each."""

from app.codes import error_codes
from docs.generate.markdown import table
from interlace_client.problems import PROBLEMS


def errors() -> str:
    """Write a table of all codes, by status; the sort is what the client makes of a code."""
    rows = [
        (
            ", ".join(map(str, code.statuses)),
            f"`{code.word}`",
            code.sentence,
            PROBLEMS[code.word].__mro__[1].__name__,
        )
        for code in sorted(error_codes(), key=lambda code: (code.statuses, code.word))
    ]
    return table(["status", "code", "meaning", "the client's sort"], rows)
