"""Where a body does not fit the schema, op by op.

A body can be wrong in as many places as it has bytes, and pydantic keeps all it finds; so objects
of too many fields are narrowed before, and the ops are looked at until enough faults are found.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from app.faults import faults_of, pointer, shown
from app.requests import MAX_BASELINES, MAX_OPS, OpBody, PlanRequest
from solver.errors import Fault
from solver.graph import ALL_REDUCE, COMPUTE, KINDS

#: Most fields of an object that are looked at.
MAX_KEYS = 64
#: Ops are looked at until so many faults are found.
ENOUGH = 1_000

_SCHEMA = PlanRequest.model_json_schema()
_FIELDS = frozenset(
    name for part in (_SCHEMA, *_SCHEMA["$defs"].values()) for name in part.get("properties", ())
)
_OP: TypeAdapter[Any] = TypeAdapter(OpBody)
_SECTIONS = ("graph", "cluster", "options")


def fitting(raw: Any) -> PlanRequest | None:
    """Return a body that fits the schema, None when it does not."""
    if any(_is_wide(part) for part in _parts(raw)):
        return None
    try:
        return PlanRequest.model_validate(raw)
    except ValidationError:
        return None


def shape_faults(raw: Any) -> list[Fault]:
    """List where a body does not fit the schema; of each ``after`` the first fault."""
    faults: list[Fault] = []
    body, ops = _narrow(raw, (), faults), ops_of(raw)
    if isinstance(body, dict):
        body = {
            key: _narrow(value, (key,), faults) if key in _SECTIONS else value
            for key, value in body.items()
        }
        if (baselines := _baselines(raw)) is not None:
            seen = [
                _narrow(baseline, ("options", "baselines", i), faults)
                for i, baseline in enumerate(baselines[: MAX_BASELINES + 1])
            ]
            body["options"] = {**body["options"], "baselines": [*seen, *baselines[len(seen) :]]}
        if ops is not None:
            body["graph"] = {**body["graph"], "ops": []}
    if ops is not None:
        faults += _ops_faults(raw, ops)
    try:
        PlanRequest.model_validate(body)
    except ValidationError as error:
        faults += faults_of(error, raw, _SCHEMA)
    return faults


def ops_of(raw: Any) -> list[Any] | None:
    """Return the ops of a body; None when they are not a list."""
    return _list(raw, "graph", "ops")


def kind_of(op: dict[str, Any]) -> str:
    """Return the kind of an op; what it looks like when it does not say."""
    kind = op.get("kind")
    if isinstance(kind, str) and kind in KINDS:
        return kind
    return ALL_REDUCE if "bytes" in op else COMPUTE


def _ops_faults(raw: Any, ops: list[Any]) -> list[Fault]:
    if len(ops) > MAX_OPS:
        detail = f"Graph: at most {MAX_OPS:,} ops are planned, got {len(ops):,}."
        return [Fault("/graph/ops", "out_of_range", detail)]
    faults: list[Fault] = []
    for i, op in enumerate(ops):
        place = ("graph", "ops", i)
        seen = _narrow(op, place, faults)
        faults += _faults(seen, raw, place)
        if isinstance(seen, dict) and seen.get("kind") != kind_of(seen):
            faults += _faults({**seen, "kind": kind_of(seen)}, raw, place)
        if len(faults) >= ENOUGH and i + 1 < len(ops):
            detail = (
                f"Graph: the first {i + 1:,} of {len(ops):,} ops have {len(faults):,} faults; "
                "the other ops were not looked at."
            )
            return [Fault("/graph/ops", "too_many_faults", detail), *faults]
    return faults


def _faults(op: Any, raw: Any, place: tuple[str | int, ...]) -> Iterator[Fault]:
    try:
        _OP.validate_python(op)
    except ValidationError as error:
        yield from faults_of(error, raw, _SCHEMA, place)


def _narrow(value: Any, place: tuple[str | int, ...], faults: list[Fault]) -> Any:
    """Keep the fields that the schema knows of an object that has too many."""
    if not _is_wide(value):
        return value
    extra = next(shown(key) for key in value if key not in _FIELDS)
    faults.append(
        Fault(
            pointer(place),
            "extra_field",
            f"The object at {pointer(place) or 'the root'} has {len(value):,} fields, more than "
            f"{MAX_KEYS}; {extra} is not a known field.",
        )
    )
    return {key: found for key, found in value.items() if key in _FIELDS}


def _is_wide(value: Any) -> bool:
    return isinstance(value, dict) and len(value) > MAX_KEYS


def _parts(raw: Any) -> Iterator[Any]:
    """Yield the objects of a body, as far as their lists are not too long."""
    yield raw
    if isinstance(raw, dict):
        yield from (raw.get(section) for section in _SECTIONS)
    yield from (ops_of(raw) or [])[: MAX_OPS + 1]
    yield from (_baselines(raw) or [])[: MAX_BASELINES + 1]


def _baselines(raw: Any) -> list[Any] | None:
    return _list(raw, "options", "baselines")


def _list(raw: Any, section: str, field: str) -> list[Any] | None:
    found = raw.get(section) if isinstance(raw, dict) else None
    found = found.get(field) if isinstance(found, dict) else None
    return found if isinstance(found, list) else None
