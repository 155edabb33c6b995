"""``--set PATH=VALUE``: any field of a request, by its path."""

from dataclasses import dataclass, field
from typing import Any

import typer

from app.errors import Refusal
from app.reading.parsing import read_json

Steps = tuple[str, ...]

#: What the command calls the flag.
FLAG = "--set"


@dataclass(slots=True)
class Assignments:
    """What ``--set`` says of a request, and what it was that had to be made for it.

    Attributes
    ----------
    values
        The value of each path.
    made
        Pointers of the objects that the request lacked, each with the path that it was made for.
    """

    values: dict[Steps, Any] = field(default_factory=dict)
    made: dict[str, Steps] = field(default_factory=dict)

    def names(self, top: str) -> bool:
        """Tell whether a field of the request itself, or one in it, is set."""
        return any(path[0] == top for path in self.values)

    def within(self, top: str) -> dict[str, Any]:
        """Return what is set of the fields of an object of the request."""
        return {path[1]: value for path, value in self.values.items() if path[:-1] == (top,)}

    def on(self, raw: Any) -> Any:
        """Return a request, unchecked, with these values in it; what they change is copied.

        Raises
        ------
        typer.BadParameter
            When a path leads through what is no object.
        """
        for path, value in self.values.items() if isinstance(raw, dict) else ():
            raw = self._with(raw, path, 0, value)
        return raw

    def flag(self, pointer: str) -> str | None:
        """Name the flag that set what a pointer points at, or what it is in."""
        named = {_pointer(path): path for path in self.values}
        return _flag(next((named[up] for up in upwards(pointer) if up in named), None))

    def maker(self, pointer: str) -> str | None:
        """Name the flag that what a pointer points at was made for, or what it is in."""
        made = self.made
        return _flag(next((made[up] for up in upwards(pointer) if up in made), None))

    def _with(self, place: Any, path: Steps, depth: int, value: Any) -> Any:
        """Return what stands at a place of a path, with the value in it."""
        if depth == len(path):
            return value
        step, above = path[depth], ".".join(path[:depth])
        if place is None:
            self.made.setdefault(_pointer(path[:depth]), path)
            place = {}
        if isinstance(place, dict):
            return {**place, step: self._with(place.get(step), path, depth + 1, value)}
        if not isinstance(place, list):
            raise _misuse(path, f"{above} is a value and no object")
        if not (step.isdecimal() and int(step) < len(place)):
            raise _misuse(path, f"{above} has {len(place)} items, from 0")
        at = int(step)
        return [*place[:at], self._with(place[at], path, depth + 1, value), *place[at + 1 :]]


def assignments(texts: list[str] | None) -> Assignments:
    """Read PATH=VALUE of each flag; a value is JSON, else a word.

    Raises
    ------
    typer.BadParameter
        When one has no path, or a path stands there twice.
    """
    values: dict[Steps, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        path = tuple(name.split("."))
        if not equals or not all(path):
            raise typer.BadParameter("use PATH=VALUE, as in options.seed=3", param_hint=FLAG)
        for other in values:
            if path[: len(other)] == other[: len(path)]:
                raise _misuse(path, f"{'.'.join(other)} is set as well")
        values[path] = value_of(value)
    return Assignments(values)


def value_of(text: str) -> Any:
    """Read a JSON value; anything else is a word."""
    try:
        return read_json(text.encode())
    except Refusal:
        return text


def _misuse(path: Steps, detail: str) -> typer.BadParameter:
    return typer.BadParameter(detail, param_hint=_flag(path))


def _flag(path: Steps | None) -> str | None:
    return None if path is None else f"{FLAG} {'.'.join(path)}"


def _pointer(path: Steps) -> str:
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in path)


def upwards(pointer: str) -> list[str]:
    """Return a pointer, and those of what it is in, the nearest first."""
    steps = pointer.split("/")
    return ["/".join(steps[:end]) for end in range(len(steps), 1, -1)]
