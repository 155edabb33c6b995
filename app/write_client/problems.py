"""The client's class of each code of the service's problems."""

from pathlib import Path

from app.codes import FailureCode, TemporaryCode, error_codes
from solver.codes import Code

#: What is written.
MODULE = Path("client/interlace_client/problems.py")
_HEAD = '''\
"""A class for each code of the service's problems, in three sorts.

Made of the service's codes by ``python -m app.write_client``.
"""

from __future__ import annotations

from interlace_client.errors import ProblemError


class Temporary(ProblemError):
    """Later it may work: the client has tried again, as often as it may."""


class JobFailed(ProblemError):
    """The work itself failed; sent again it would fail again, unless something changes."""


class Refused(ProblemError):
    """The request is wrong as it is; the faults say where."""
'''
_SORTS: dict[type[Code], str] = {TemporaryCode: "Temporary", FailureCode: "JobFailed"}


def module() -> str:
    """Return the module's text: the classes in the order of the codes, and the class of each."""
    codes = error_codes()
    classes = "".join(
        f"\n\nclass {_class(code.word)}({_SORTS.get(code.sort, 'Refused')}):\n"
        f'    """{code.sentence}"""\n'
        for code in codes
    )
    rows = "".join(f'    "{code.word}": {_class(code.word)},\n' for code in codes)
    return (
        f"{_HEAD}{classes}\n\n"
        "#: The class of each code; another code is a plain ProblemError.\n"
        f"PROBLEMS: dict[str, type[ProblemError]] = {{\n{rows}}}\n"
    )


def _class(word: str) -> str:
    return "".join(part.capitalize() for part in word.split("_"))
