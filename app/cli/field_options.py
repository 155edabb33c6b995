"""Flags of the fields of requests: help, range and completion are those of the field."""

from collections.abc import Callable, Sequence
from typing import Any

import typer

from app.cli.request_fields import FIELDS, REQUESTS


def option(
    field: str,
    *names: str,
    note: str = "",
    default: str | None = None,
    unit: float = 1,
    words: Sequence[str] = (),
    **more: Any,
) -> Any:
    """Return what typer is told of the flag of a field.

    Parameters
    ----------
    field
        Key of :data:`app.cli.request_fields.FIELDS`.
    names
        Of the flag, where it is not called as its parameter.
    note
        What the flag does besides, such as that it may be repeated.
    default
        What counts without the flag; None for the field's own default.
    unit
        How many of the field's units the flag's is. With one other than 1 the flag has the range
        of the field itself: its number is rounded before it is checked.
    words
        What may be completed besides the field's choices.
    more
        Passed on to typer.
    """
    about = FIELDS[field]
    usual = about.default if default is None else default
    what = "; ".join(filter(None, [about.text or ", ".join(about.choices), note]))
    remarks = [usual and f"default: {usual}"]
    if unit != 1:  # typer says the range itself
        more |= {"min": _rounded(about.least, unit), "max": about.most and about.most / unit}
    else:
        choices = ", ".join(about.choices) if about.text else ""
        remarks = [choices or about.span(), *remarks]
    told = "; ".join(filter(None, remarks))
    if complete := (*about.choices, *words):
        more["autocompletion"] = completing(complete)
    return typer.Option(*names, help=f"{what}.  [{told}]" if told else f"{what}.", **more)


def _rounded(value: float | None, unit: float) -> float | None:
    """Return a value in a unit, as it is written briefly."""
    return None if value is None else float(f"{value / unit:.1g}")


def completing(words: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what completes one of some words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def paths(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the path of a field of the request that a command makes."""
    parts = REQUESTS.get(ctx.info_name or "", {})
    found = (
        f"{prefix}{name}="
        for prefix, model in parts.items()
        for known in FIELDS
        for of, _, name in [known.partition(".")]
        if of == model
    )
    return [path for path in found if path.startswith(incomplete)]
