"""The service's OpenAPI document, made once."""

import json
from functools import cache
from typing import Any

from app.write_openapi import document


@cache
def api() -> dict[str, Any]:
    """Return the document."""
    made: dict[str, Any] = json.loads(document())
    return made


def objects() -> dict[str, dict[str, Any]]:
    """Return the schema of every object that is sent or answered, by name."""
    found: dict[str, dict[str, Any]] = api()["components"]["schemas"]
    return found
