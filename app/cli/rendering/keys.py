"""API keys, and who changed what with them."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from app.storage.audit import AuditEntry
from app.storage.keys import ApiKey


def made(text: str, key: ApiKey, *, as_json: bool) -> str:
    """Write a new key, the only time that it is."""
    if as_json:
        return json.dumps({"key": text, **asdict(key)}, indent=1)
    team = f", team {key.team}" if key.team else ""
    until = f"until {key.expires_at}" if key.expires_at else "for ever"
    about = f"{key.name}: owner {key.owner}{team}; {', '.join(key.scopes)}; {until}."
    return f"{text}\n{about} Keep it: it is shown this once."


def listed(found: Sequence[tuple[ApiKey, str]], *, as_json: bool) -> str:
    """Write keys, a line each."""
    if as_json:
        return json.dumps([{**asdict(key), "state": state} for key, state in found], indent=1)
    if not found:
        return "No keys; 'interlace keys make' makes one."
    head = ("id", "state", "owner", "team", "scopes", "expires", "last used", "name")
    return _lines(
        head,
        [
            (
                *(key.id, state, key.owner, key.team or "-", ",".join(key.scopes)),
                *(_minute(key.expires_at), _minute(key.used_at), key.name),
            )
            for key, state in found
        ],
    )


def changes(found: Sequence[AuditEntry]) -> str:
    """Write changes, a line each."""
    if not found:
        return "No changes are kept."
    head = ("at", "owner", "key", "from", "status", "what")
    return _lines(
        head,
        [
            (
                *(each.at, each.owner or "-", each.key or "-", each.address or "-"),
                *(str(each.status), f"{each.action} {each.kind} {each.target}"),
            )
            for each in found
        ],
    )


def _lines(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Write columns below each other; the last one is as wide as it is."""
    shown = [head, *(tuple(_plain(cell) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    )


def _plain(text: str) -> str:
    """Write what could steer a terminal as an escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _minute(moment: str | None) -> str:
    return "-" if moment is None else f"{moment[:16]}Z"
