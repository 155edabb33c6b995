"""What pydantic found wrong, as faults: a pointer, a code of ours, a sentence."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.limits import MAX_NAME_CHARACTERS
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import COLLECTIVES
from solver.wording import meant, must_be, nearest, number, one_of, ranged, shown

Location = Sequence[str | int]


_KINDS = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "float_type": "a number",
    "int_parsing": "an integer",
    "int_type": "an integer",
    "list_type": "a list",
    "literal_error": "a string",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "string_type": "a string",
    "tuple_type": "a pair",
    "union_tag_invalid": "a string",
    "no_name_and_no_object": "a string or an object",
}


#: Of a value where a name or an object may stand.
_NEITHER = "no_name_and_no_object"


_NAMED_ALIKE = {"literal_error", "union_tag_invalid"}


#: Lists of what is told apart by a tag, and where one such thing stands alone.
_TAGGED = {("graph", "ops"), ("options", "baselines"), ("jitter", "rivals"), ("policies",)}


_TAGGED_ALONE = ("policy",)


#: What pydantic puts behind a key that is wrong itself.
_KEY = "[key]"


#: What pydantic puts behind the place of a value that it tried as a name, of several types.
_TEXT = "constrained-str"


_LONGEST = 60


#: So many fields of an object are listed beside one that it does not have.
_LISTED = 20


_TENSORS = list(COLLECTIVES)  # a kind may be of a type that has no hash


def pointer(location: Location) -> str:
    """Write a location as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in location)


def faults_of(
    error: ValidationError, raw: Any, schema: dict[str, Any], under: Location = ()
) -> Iterator[Fault]:
    """Name each fault of the body ``raw``, which does not fit the JSON schema ``schema``.

    ``under`` is the place of what was validated, when that was not the whole body.
    """
    for item in _meant_alone(error.errors(include_url=False)):
        location = (*under, *item["loc"])
        place, kind, value = _there(_place(location), raw), item["type"], item["input"]
        rules = rules_at(schema, location)
        if place[-1:] == (_TEXT,) and _is_of_text(item):
            place = place[:-1]
            kind = _NEITHER if kind == "string_type" else kind
        if place[-1:] == (_KEY,):  # a name, of a channel or of a kind of collective
            place, kind = place[:-1], "extra_forbidden" if kind in _NAMED_ALIKE else kind
        if kind in {"union_tag_not_found", "union_tag_invalid"}:
            tag = rules["discriminator"]["propertyName"]
            value = value.get(tag)
            if not isinstance(_at(raw, place), str):  # a policy's name stands for its object
                place = (*place, tag)
            rules = {"enum": list(rules["discriminator"]["mapping"])}
        code = _code(kind, value)
        name = _name(place, raw)
        if code == FaultCode.MISSING_FIELD:
            detail = f"{name} is missing."
        elif code == FaultCode.EXTRA_FIELD:
            detail = f"{name} is not a known field.{_meant(schema, location)}"
        elif code == FaultCode.WRONG_TYPE:
            wanted = " or ".join([_KINDS.get(kind, "text"), *map(shown, rules.get("or", []))])
            detail = must_be(name, wanted, value)
        else:
            detail = must_be(name, _rule(rules), value, rules.get("enum", ()))
        yield Fault(pointer(place), code, detail)


def _meant_alone(items: list[ErrorDetails]) -> Iterator[ErrorDetails]:
    """Leave out what is wrong with types that were not meant where a name or an object may stand.

    Of an object the fields are said to be wrong, of a text the text; of anything else it is said
    once that it is neither.
    """
    texts = {item["loc"][:-1]: item["input"] for item in items if _is_of_text(item)}
    for item in items:
        location = item["loc"]
        if _is_of_text(item):
            if not isinstance(item["input"], dict):
                yield item
        elif not any(
            location[:end] in texts and not isinstance(texts[location[:end]], dict)
            for end in range(len(location))
        ):
            yield item


def _is_of_text(item: ErrorDetails) -> bool:
    return item["loc"][-1:] == (_TEXT,) and item["type"].startswith("string_")


def brief(name: str) -> str:
    """Shorten what is too long for a name."""
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[:_LONGEST]}..."


def _meant(schema: dict[str, Any], location: Location) -> str:
    """Say which field an unknown one may stand for: of its object, or of a section of the body.

    A field that stands by its very name in another section is what was meant.
    """
    *above, last = location
    if last == _KEY:
        return meant(above[-1], rules_at(schema, location).get("enum", ()))
    own = _fields(rules_at(schema, above))
    unit = str(last).rpartition("_")[2]
    alike = [name for name in own if name.endswith(f"_{unit}")]
    if len(above) > 1 and "_" in str(last) and len(alike) == 1:  # its own object, by the unit
        return f" Did you mean {alike[0]}?"
    sections = {name: rules_at(schema, (name,)) for name in _fields(schema)}
    elsewhere = [f"{name}.{last}" for name, rules in sections.items() if last in _fields(rules)]
    if elsewhere and nearest(last, own) is None:
        return f" Did you mean {elsewhere[-1]}?"  # options stand behind beliefs
    known = f" There are: {', '.join(own)}." if above and 0 < len(own) <= _LISTED else ""
    return meant(last, own) or known


def _fields(rules: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the fields that an object may have."""
    return tuple(rules.get("properties", ()))


def _place(location: Location) -> tuple[str | int, ...]:
    """Drop the tag that pydantic adds behind the place of an op or a policy."""
    for listed in _TAGGED:
        if tuple(location[: len(listed)]) == listed:
            tag = len(listed) + 1
            return (*location[:tag], *location[tag + 1 :])
    if tuple(location[:1]) == _TAGGED_ALONE:
        return (*location[:1], *location[2:])
    return tuple(location)


def _there(place: Location, raw: Any) -> tuple[str | int, ...]:
    """Drop the types that pydantic tried of several: steps to what is not in the body."""
    found: list[str | int] = []
    for step in place[:-1]:
        if isinstance(step, int) or (isinstance(raw, dict) and step in raw):
            raw = raw[step]
            found.append(step)
    return (*found, *place[-1:])


def _at(raw: Any, place: Location) -> Any:
    """Return what stands at a place of the body."""
    for step in place:
        raw = raw[step]
    return raw


def _code(kind: str, value: Any) -> FaultCode:
    if kind in {"missing", "union_tag_not_found"}:
        return FaultCode.MISSING_FIELD
    if kind == "extra_forbidden":
        return FaultCode.EXTRA_FIELD
    if kind == "int_type" and isinstance(value, float) and not math.isfinite(value):
        return FaultCode.OUT_OF_RANGE
    if kind == "float_type" and type(value) is int:  # more digits than a float can hold
        return FaultCode.OUT_OF_RANGE
    if kind in _NAMED_ALIKE:
        return FaultCode.OUT_OF_RANGE if isinstance(value, str) else FaultCode.WRONG_TYPE
    return FaultCode.WRONG_TYPE if kind in _KINDS else FaultCode.OUT_OF_RANGE


def _name(place: Location, raw: Any) -> str:
    """Name the thing: the op by its id, else the section, then the field."""
    match place:
        case ["steps", int(step), "ops", int(i), *fields]:
            op = raw["steps"][step]["ops"][i]
            known = isinstance(op, dict) and isinstance(op.get("id"), str)
            label = f"Step {step}: op {brief(op['id'])!r}" if known else f"Step {step}: op {i}"
            return ": ".join([label, *_joined(fields)])
    if tuple(place[:2]) != ("graph", "ops") or len(place) <= 2:  # noqa: PLR2004 - graph, ops
        if not place:
            return "The body"
        section, *steps = place
        label = str(section)
        label = label if "_" in label else label.capitalize()  # a word, or the name of a field
        if steps and isinstance(item := steps[0], int):
            label = f"Layer {item + 1}" if section == "layers" else f"{label} item {item}"
            steps = steps[1:]
        return ": ".join([label, *_joined(steps)])
    op = raw["graph"]["ops"][place[2]]
    label = f"Op {place[2]}"
    if isinstance(op, dict) and isinstance(op.get("id"), str):
        label = f"{'Tensor' if op.get('kind') in _TENSORS else 'Op'} {brief(op['id'])!r}"
    return ": ".join([label, *_joined(place[3:])])


def _joined(steps: Location) -> list[str]:
    return ["/".join(brief(str(step)) for step in steps)] if steps else []


def rules_at(schema: dict[str, Any], location: Location) -> dict[str, Any]:
    """Follow a pydantic location, tags included, through a JSON schema; {} where it ends."""
    node = _resolved(schema, schema)
    keys: dict[str, Any] = {}
    found = node
    for step in location:
        if "discriminator" in node:
            found = {"$ref": node["discriminator"]["mapping"].get(step, "")}
        elif (tried := _tried(found, step)) is not None:
            found = tried
        elif isinstance(step, int):
            items = node.get("prefixItems")
            found = items[step] if items and step < len(items) else node.get("items", {})
        elif step == _KEY:
            found = keys
        else:
            found = node.get("properties", {}).get(step) or _any_property(node)
        keys = node.get("propertyNames", {})
        node = _resolved(found, schema)
    return node


def _tried(rules: dict[str, Any], step: str | int) -> dict[str, Any] | None:
    """Return which of several types was tried, as pydantic says behind a place; None for none."""
    for choice in rules.get("anyOf", ()):
        name = str(choice.get("$ref", "")).rpartition("/")[2]
        if step == (_TEXT if choice.get("type") == "string" else name):
            return dict(choice)
    return None


def _any_property(node: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the values of an object whose keys are free."""
    free = [*node.get("patternProperties", {}).values(), node.get("additionalProperties")]
    return next((found for found in free if isinstance(found, dict)), {})


def _resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "anyOf" in node:
        node, *others = (choice for choice in node["anyOf"] if choice.get("type") != "null")
        words = [other["const"] for other in others if "const" in other]
        node = {**node, "or": words} if words else node
    if name := node.get("$ref"):
        return dict(schema["$defs"][name.rsplit("/", 1)[1]])
    return node


def _rule(rules: dict[str, Any]) -> str:
    """Say in words what a JSON schema asks for."""
    if "enum" in rules or "const" in rules:
        return one_of(rules.get("enum") or [rules["const"]])
    low, high = rules.get("minimum"), rules.get("maximum", 0)
    if "exclusiveMinimum" in rules:
        return f"more than {number(rules['exclusiveMinimum'])} and at most {number(high)}"
    if low is not None:
        return ranged(low, high)
    most = rules.get("maxItems", rules.get("maxProperties"))
    if most is not None:
        things = "items" if "maxItems" in rules else "fields"
        least = rules.get("minItems", 0)
        some = f"{least:,} to" if 0 < least < most else "exactly" if least == most else "at most"
        return f"{some} {most:,} {things}"
    if "maxLength" in rules:
        least = rules.get("minLength", 0)
        return f"{least} to {rules['maxLength']} characters, none a control character"
    return "in range"
