"""The limits, as ``GET /v1/limits`` describes them."""

from collections.abc import Iterator
from typing import Any

from docs.generate.api import objects
from docs.generate.markdown import number, table


def limits() -> str:
    """Write a table for each part of the limits."""
    return "\n\n".join(_parts(objects()))


def _parts(schemas: dict[str, Any]) -> Iterator[str]:
    for name, field in schemas["Limits"]["properties"].items():
        (reference,) = (part["$ref"] for part in [field, *field.get("allOf", [])] if "$ref" in part)
        part = schemas[reference.rpartition("/")[2]]
        rows = [
            (f"`{name}.{key}`", _value(each), each["description"])
            for key, each in part["properties"].items()
        ]
        title = part["description"].rstrip(".")
        yield f"### {title}\n\n{table(['field', 'value', 'meaning'], rows)}"


def _value(field: dict[str, Any]) -> str:
    return number(field["default"]) if "default" in field else "[as set](settings.md)"
