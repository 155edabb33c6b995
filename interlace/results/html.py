"""What a notebook shows of an answer."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Set rows with the same keys as a table; figures have six digits, what is unknown a dash."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.6g}" if isinstance(value, float) else f"{value}"


def shown(sentences: Sequence[str], *pictures: str) -> str:
    """Set sentences, the first one bold, above pictures."""
    said = "".join(
        f"<p>{f'<b>{escape(text)}</b>' if i == 0 else escape(text)}</p>"
        for i, text in enumerate(sentences)
    )
    return f"<div>{said}{''.join(pictures)}</div>"
