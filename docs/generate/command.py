"""The command: every subcommand with its flags, as its own ``--help`` tells them."""

from collections.abc import Iterator
from typing import Any

import typer.main

from app.cli.program import app
from docs.generate.markdown import table

#: What click and typer put before lines that are not to be joined.
_KEEP = "\b"


def command() -> str:
    """Write a section for each subcommand."""
    return "\n\n".join(_sections(typer.main.get_command(app), "interlace"))


def _sections(one: Any, name: str) -> Iterator[str]:
    context = one.context_class(one, info_name=name)
    yield f"## `{name}`\n\n{_help(one.help)}\n\n{_parameters(one, context)}".rstrip()
    if hasattr(one, "list_commands"):
        for sub in one.list_commands(context):
            yield from _sections(one.get_command(context, sub), f"{name} {sub}")


def _help(text: str | None) -> str:
    """Write paragraphs as they are, and the examples as code."""
    parts = []
    for paragraph in (text or "").split("\n\n"):
        if paragraph.startswith(_KEEP):
            head, *lines = paragraph.lstrip(f"{_KEEP}\n").splitlines()
            parts += [head, "```sh\n" + "\n".join(line.strip() for line in lines) + "\n```"]
        else:
            parts.append(paragraph)
    return "\n\n".join(parts)


def _parameters(one: Any, context: Any) -> str:
    records = [
        each.get_help_record(context) for each in one.params if not getattr(each, "hidden", False)
    ]
    rows = [(f"`{record[0]}`", _escaped(record[1])) for record in records if record is not None]
    return table(["flag", "meaning"], rows) if rows else ""


def _escaped(text: str) -> str:
    """Keep what stands in brackets from being read as a link, or as HTML."""
    return text.replace("[", "\\[").replace("<", "&lt;")
