"""The calls of the service, and the fields of what is sent and answered, from its document."""

import json
from collections.abc import Iterator
from typing import Any

from docs.generate.api import api, objects
from docs.generate.markdown import number, table

Json = dict[str, Any]


def calls() -> str:
    """Write a table of all calls for each sort of thing that is asked for."""
    by_tag: dict[str, list[tuple[str, str, str]]] = {}
    for path, methods in api()["paths"].items():
        for method, call in methods.items():
            done = ", ".join(status for status in call["responses"] if status < "400")
            row = f"`{method.upper()} {path}`", call["summary"], done
            by_tag.setdefault(call["tags"][0], []).append(row)
    return "\n\n".join(
        f"### {tag.replace('-', ' ').capitalize()}\n\n"
        + table(["call", "what it does", "answers"], rows)
        for tag, rows in by_tag.items()
    )


def schemas() -> str:
    """Write the fields of every object that is sent or answered."""
    return "\n\n".join(_objects(objects()))


def _objects(found: dict[str, Json]) -> Iterator[str]:
    for name, schema in found.items():
        if "properties" in schema:
            yield f"### {name}\n\n{_text(schema)}\n\n{fields(schema)}"


def fields(schema: Json) -> str:
    """Write a table of the fields of one object."""
    required = schema.get("required", [])
    rows = [
        (f"`{name}`", _kind(field), _default(field, is_needed=name in required), _text(field))
        for name, field in schema["properties"].items()
    ]
    return table(["field", "type", "default", "meaning"], rows)


def _text(schema: Json) -> str:
    return str(schema.get("description", ""))


def _default(field: Json, *, is_needed: bool) -> str:
    if is_needed:
        return "required"
    return f"`{json.dumps(field['default'])}`" if "default" in field else ""


def _kind(field: Json) -> str:
    """Write the type of a field: a link to its object, or what JSON calls it, with its range."""
    match field:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            kind = f"[{name}](fields.md#{name.lower()})"
        case {"anyOf": several} | {"oneOf": several} | {"allOf": several}:
            kind = " or ".join(dict.fromkeys(map(_kind, several)))
        case {"const": value}:
            kind = f"`{json.dumps(value)}`"
        case {"enum": values}:
            kind = ", ".join(f"`{json.dumps(value)}`" for value in values)
        case {"type": "array", "items": items} if items:
            kind = f"list of {_kind(items)}"
        case {"type": "array"}:
            kind = "list"
        case _:
            kind = f"{field.get('type', 'anything')}{_range(field)}"
    return kind


def _range(field: Json) -> str:
    least = f" from {number(field['minimum'])}" if "minimum" in field else ""
    return least + (f" to {number(field['maximum'])}" if "maximum" in field else "")
