"""JSON objects put together of parts that are JSON text already, and are not read for it."""

from typing import Any

import msgspec

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def with_fields(fields: dict[str, Any], text: str | bytes) -> bytes:
    """Return a JSON object with fields before its own, whose values stay as they are."""
    return msgspec.json.encode({**fields, **_OBJECT.decode(text)})
