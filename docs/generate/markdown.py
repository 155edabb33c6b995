"""Markdown from docstrings and rows."""

import inspect
import math
import re
from collections.abc import Iterable, Sequence

_ROLE = re.compile(r":(\w+):`~?\.?([^`]*)`")
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
#: From here on powers of two are told by their exponents.
_LARGE = 2**40
#: Beyond so many digits powers of ten are.
_DIGITS = 4
_CITATION = re.compile(r"\s*\.\. \[(\d+)\] ")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table; a bar in a cell stays in it."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(" ".join(str(cell).replace("|", "\\|").split()) for cell in line) + " |"
        for line in lines
    )


def markdown(docstring: str | None) -> str:
    """Write the RST of a docstring as Markdown: roles, literals and citations."""
    text = inspect.cleandoc(docstring or "")
    text = _ROLE.sub(lambda role: f"`{role[2]}`", text)
    text = text.replace("``", "`")
    return _CITATION.sub(r"\n\1. ", text)


def sections(docstring: str | None) -> dict[str, str]:
    """Part a numpydoc docstring into its sections; what comes before the first is called ""."""
    first, *rest = _HEADING.split(markdown(docstring))
    return {"": first.strip()} | {
        name: body.strip() for name, body in zip(rest[::2], rest[1::2], strict=True)
    }


def number(value: object) -> str:
    """Write a number with commas, and large or small powers of 2 and 10 as such."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) and value >= _LARGE and value.bit_count() == 1:
        return f"2^{value.bit_length() - 1}"
    power = math.log10(value) if value > 0 else 0.0
    if abs(power) > _DIGITS and power.is_integer():
        return f"10^{power:.0f}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,}"
