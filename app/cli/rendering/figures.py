"""Figures in words: counts, sizes and shares."""

import re

#: Stands for the space before a unit while lines are broken: they are not, there.
_TIE = "\ue000"

_UNIT = re.compile(r"(?<=[0-9]) (?=(?:%|[mu]?s|[MG]?B|Gbit/s)(?![a-z]))")


def counted(number: int, one: str, many: str = "") -> str:
    """Write how many there are of a thing."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def factor(share: float | None) -> str:
    """Write a scaling factor; a dash when it is unknown."""
    return "-" if share is None else f"{share:.3f}"


def percent(share: float | None) -> str:
    """Write a share as a percentage; a dash when it is unknown."""
    return "-" if share is None else f"{round(100 * share, 2) + 0.0:.2f} %"


def tied(text: str) -> str:
    """Keep figures and their units together while lines are broken."""
    return _UNIT.sub(_TIE, text)


def untied(text: str) -> str:
    """Undo :func:`tied`."""
    return text.replace(_TIE, " ")
