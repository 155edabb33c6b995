"""The formats that are read and written, as their modules describe them."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from docs.generate.markdown import sections, table
from solver.exports import EXPORTS
from solver.exports.programs import PROGRAM_EXPORTS
from solver.traces import FORMATS, READERS


def read_formats() -> str:
    """Write a table of the formats that are read: of which versions, what is assumed, what not."""
    return table(
        ["format", "of", "versions", "read", "assumed", "refused"],
        [
            (f"`{f.name}`", f.source, f.versions, f.reads, f.assumes, f.refuses)
            for f in sorted(FORMATS, key=lambda form: form.name)
        ],
    )


def readers() -> str:
    """Write a section for each format that is read."""
    return _formats(READERS)


def exporters() -> str:
    """Write a section for each format that is written."""
    return _formats(EXPORTS)


def program_exporters() -> str:
    """Write a section for each format in which programs are written."""
    return _formats(PROGRAM_EXPORTS)


def _formats(functions: Mapping[str, Callable[..., Any]]) -> str:
    return "\n\n".join(
        f"### `{name}`\n\n" + "\n\n".join(_paragraphs(function))
        for name, function in functions.items()
    )


def _paragraphs(function: Callable[..., Any]) -> Iterable[str]:
    """Return what module and function say of a format."""
    module = sections(sys.modules[function.__module__].__doc__)
    called = sections(function.__doc__)
    yield module[""]
    yield called[""]
    for written in (called, module):
        for section in ("Notes", "References"):
            if section in written:
                yield written[section]
