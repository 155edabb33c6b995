"""Where a body does not fit the schema, op by op.

A body can be wrong in as many places as it has bytes, and pydantic keeps all it finds; so objects
of too many fields are narrowed before, and the ops are looked at until enough faults are found.
"""

from collections.abc import Callable, Collection, Iterator
from copy import copy
from functools import cache, partial
from typing import Annotated, Any, NamedTuple, TypeGuard, TypeVar

from pydantic import FailFast, TypeAdapter, ValidationError

from app.limits import (
    MAX_BASELINES,
    MAX_CHANGES,
    MAX_CHANNELS,
    MAX_OBJECT_FIELDS,
    MAX_OPS,
    MAX_PROFILED_STEPS,
    MAX_REPORTED_STEPS,
    MAX_STEP_OPS,
)
from app.reading.wording import faults_of, pointer
from app.schemas.base import RequestModel
from app.schemas.building import when_built
from app.schemas.clusters import ChannelBody
from app.schemas.graphs import OpBody
from app.schemas.profiled_steps import ProfiledOpBody
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import ALL_REDUCE, COLLECTIVES, COMPUTE, KINDS
from solver.limits import MAX_FAULTS_SOUGHT
from solver.wording import shown

Model = TypeVar("Model", bound=RequestModel)


Place = tuple[str | int, ...]


#: Names of fields, found when an object has too many: to make them takes time.
Fields = Callable[[], Collection[str]]


class _Ops(NamedTuple):
    """A list of ops of a body: where it is, what one of them and all of them are."""

    place: Place
    ops: list[Any]
    one: TypeAdapter[Any]
    many: TypeAdapter[Any]


_OP: TypeAdapter[Any] = TypeAdapter(OpBody, config=when_built())


_OPS: TypeAdapter[Any] = TypeAdapter(Annotated[list[OpBody], FailFast()], config=when_built())


_STEP_OP: TypeAdapter[Any] = TypeAdapter(ProfiledOpBody)


_STEP_OPS: TypeAdapter[Any] = TypeAdapter(
    Annotated[list[ProfiledOpBody], FailFast()], config=when_built()
)


#: So many ops are validated together, until one of them does not fit.
_BLOCK = 1_000


#: Lists of objects besides the ops, and how many objects of one are looked at.
_LISTS = (
    ("options", "baselines"),
    ("jitter", "rivals"),
    ("what_if",),
    ("policies",),
    ("layers",),
    ("steps",),
    ("keys",),
    ("jobs",),
)


_LISTED = max(MAX_BASELINES, MAX_CHANGES, MAX_REPORTED_STEPS) + 1


def fitting(raw: Any, model: type[Model]) -> Model | None:
    """Return a body that fits the schema of a request, None when it does not."""
    body, faults = _narrowed(raw, model)
    if faults or _crowd_faults(body, model):
        return None
    if any(_is_wide_op(op) for listed in _op_lists(raw, model) for op in listed.ops[: MAX_OPS + 1]):
        return None
    try:
        return model.model_validate(raw)
    except ValidationError:
        return None


def shape_faults(raw: Any, model: type[Model]) -> list[Fault]:
    """List where a body does not fit the schema; of each ``after`` the first fault."""
    body, faults = _narrowed(raw, model)
    schema, fields = _schema_of(model), partial(_fields_of, model)
    crowd = _crowd_faults(body, model)
    stop = len(crowd)
    for listed in _op_lists(raw, model):
        _empty(body, listed.place)
        if stop:
            continue
        faults += _ops_faults(raw, listed, schema, fields)
        if len(faults) >= MAX_FAULTS_SOUGHT and listed.one is _STEP_OP:
            detail = (
                f"Steps up to {listed.place[1]} have {len(faults):,} faults; the others were not "
                "looked at."
            )
            faults.append(Fault("/steps", FaultCode.TOO_MANY_FAULTS, detail))
            stop = 1
    faults += crowd
    try:
        model.model_validate(body)
    except ValidationError as error:
        faults += faults_of(error, raw, schema)
    return faults


@cache
def _schema_of(model: type[RequestModel]) -> dict[str, Any]:
    """Return the JSON schema of a request."""
    return model.model_json_schema()


@cache
def _fields_of(model: type[RequestModel]) -> frozenset[str]:
    """Return the names of all fields of a request."""
    schema = _schema_of(model)
    parts = (schema, *schema.get("$defs", {}).values())
    return frozenset(name for part in parts for name in part.get("properties", ()))


def ops_of(raw: Any) -> list[Any] | None:
    """Return the ops of a body; None when they are not a list."""
    return _list(raw, ("graph", "ops"))


def steps_of(raw: Any, model: type[RequestModel]) -> list[list[Any] | None]:
    """Return the ops of each profiled step of a body; None where they are no list."""
    steps = _list(raw, ("steps",))
    if steps is None:
        return []
    from app.schemas.parameter_servers import ParameterServerRequest  # noqa: PLC0415 - takes time

    if not issubclass(model, ParameterServerRequest):
        return []
    return [_list(step, ("ops",)) for step in steps[:MAX_PROFILED_STEPS]]


def _op_lists(raw: Any, model: type[RequestModel]) -> Iterator[_Ops]:
    """Yield the lists of ops of a body, whose faults are looked for op by op."""
    if "graph" in model.model_fields and (ops := ops_of(raw)) is not None:
        yield _Ops(("graph", "ops"), ops, _OP, _OPS)
    for i, listed in enumerate(steps_of(raw, model)):
        if listed is not None:
            yield _Ops(("steps", i, "ops"), listed, _STEP_OP, _STEP_OPS)


def _crowd_faults(raw: Any, model: type[RequestModel]) -> list[Fault]:
    """Refuse profiled steps that have too many ops together."""
    count = sum(len(ops) for ops in steps_of(raw, model) if ops is not None)
    if count <= MAX_STEP_OPS:
        return []
    detail = f"Steps: at most {MAX_STEP_OPS:,} ops are taken in all steps, got {count:,}."
    return [Fault("/steps", FaultCode.OUT_OF_RANGE, detail)]


def _empty(body: Any, place: Place) -> None:
    """Leave out the list at a place of a body, whose own objects are copied."""
    *above, last = place
    for step in above:
        body[step] = copy(body[step])
        body = body[step]
    body[last] = []


def kind_of(op: dict[str, Any]) -> str:
    """Return the kind of an op; what it looks like when it does not say."""
    kind = op.get("kind")
    if isinstance(kind, str) and kind in KINDS:
        return kind
    return ALL_REDUCE if "bytes" in op else COMPUTE


def _ops_faults(raw: Any, listed: _Ops, schema: dict[str, Any], fields: Fields) -> list[Fault]:
    ops, is_graph = listed.ops, listed.one is _OP
    if len(ops) > MAX_OPS:
        detail = f"Graph: at most {MAX_OPS:,} ops are planned, got {len(ops):,}."
        return [Fault("/graph/ops", FaultCode.OUT_OF_RANGE, detail)]
    faults: list[Fault] = []
    for i in _suspects(listed):
        op, place = ops[i], (*listed.place, i)
        seen = _narrow_slowdown(_narrow(op, place, faults, fields), place, faults)
        faults += _faults(listed.one, seen, raw, place, schema)
        if is_graph and isinstance(seen, dict) and seen.get("kind") != kind_of(seen):
            faults += _faults(_OP, {**seen, "kind": kind_of(seen)}, raw, place, schema)
        if len(faults) >= MAX_FAULTS_SOUGHT and i + 1 < len(ops):
            where = "Graph" if is_graph else f"Step {listed.place[1]}"
            detail = (
                f"{where}: the first {i + 1:,} of {len(ops):,} ops have {len(faults):,} faults; "
                "the other ops were not looked at."
            )
            return [Fault(pointer(listed.place), FaultCode.TOO_MANY_FAULTS, detail), *faults]
    return faults


def _suspects(listed: _Ops) -> Iterator[int]:
    """Yield the places of the ops that do not fit, and of some beside them."""
    for start in range(0, len(listed.ops), _BLOCK):
        block = listed.ops[start : start + _BLOCK]
        if any(map(_is_wide_op, block)) or not _all_fit(block, listed.many):
            yield from range(start, start + len(block))


def _all_fit(block: list[Any], many: TypeAdapter[Any]) -> bool:
    try:
        many.validate_python(block)
    except ValidationError:
        return False
    return True


def _faults(
    one: TypeAdapter[Any], op: Any, raw: Any, place: Place, schema: dict[str, Any]
) -> Iterator[Fault]:
    try:
        one.validate_python(op)
    except ValidationError as error:
        yield from faults_of(error, raw, schema, place)


def _narrowed(raw: Any, model: type[RequestModel]) -> tuple[Any, list[Fault]]:
    """Copy a body, its objects of too many fields narrowed, ops aside; list what they were."""
    fields = partial(_fields_of, model)
    faults: list[Fault] = []
    body = _narrow(raw, (), faults, fields)
    if not isinstance(body, dict):
        return body, faults
    body = {
        key: _narrow(value, (key,), faults, fields) if key in model.model_fields else value
        for key, value in body.items()
    }
    for place in _LISTS:
        if (entries := _list(body, place)) is not None:
            seen = [
                _narrow(each, (*place, i), faults, fields)
                for i, each in enumerate(entries[:_LISTED])
            ]
            first, *last = place
            listed = [*seen, *entries[_LISTED:]]
            body[first] = {**body[first], last[0]: listed} if last else listed
    if isinstance(cluster := body.get("cluster"), dict):
        cluster = _narrow_tables(cluster, ("cluster",), faults)
        body["cluster"] = _narrow_channels(cluster, faults, fields)
    return body, faults


def _narrow_channels(
    cluster: dict[str, Any], faults: list[Fault], fields: Fields
) -> dict[str, Any]:
    channels = cluster.get("channels")
    if not isinstance(channels, dict):
        return cluster
    if len(channels) > MAX_CHANNELS:
        count = f"{len(channels):,} fields"
        detail = f"Cluster: channels must be at most {MAX_CHANNELS:,} fields, got {count}."
        faults.append(Fault("/cluster/channels", FaultCode.OUT_OF_RANGE, detail))
        channels = {}
    seen = {}
    if len(channels) > MAX_OBJECT_FIELDS:
        channels = _first_misfits(channels, faults)
    for name, channel in channels.items():
        place = ("cluster", "channels", name)
        seen[name] = _narrow_tables(_narrow(channel, place, faults, fields), place, faults)
    return {**cluster, "channels": seen}


def _first_misfits(channels: dict[str, Any], faults: list[Fault]) -> dict[str, Any]:
    """Keep the first of many channels that do not fit, whose faults are listed."""
    misfits = [name for name, channel in channels.items() if not _is_channel(channel)]
    if len(misfits) > MAX_OBJECT_FIELDS:
        detail = (
            f"Cluster: {len(misfits):,} channels do not fit; the faults of the first "
            f"{MAX_OBJECT_FIELDS} are listed."
        )
        faults.append(Fault("/cluster/channels", FaultCode.TOO_MANY_FAULTS, detail))
    return {name: channels[name] for name in misfits[:MAX_OBJECT_FIELDS]}


def _is_channel(channel: Any) -> bool:
    if _is_wide(channel):
        return False
    try:
        ChannelBody.model_validate(channel)
    except ValidationError:
        return False
    return True


def _narrow_tables(channel: Any, place: Place, faults: list[Fault]) -> Any:
    if not isinstance(channel, dict) or "tables" not in channel:
        return channel
    tables = _narrow(channel["tables"], (*place, "tables"), faults, lambda: COLLECTIVES)
    return {**channel, "tables": tables}


def _narrow(value: Any, place: Place, faults: list[Fault], fields: Fields) -> Any:
    """Keep the fields that the schema knows of an object that has too many."""
    if not _is_wide(value):
        return value
    allowed = fields()
    extra = next(shown(key) for key in value if key not in allowed)
    faults.append(
        Fault(
            pointer(place),
            FaultCode.EXTRA_FIELD,
            f"The object at {pointer(place) or 'the root'} has {len(value):,} fields, more than "
            f"{MAX_OBJECT_FIELDS}; {extra} is not a known field.",
        )
    )
    return {key: content for key, content in value.items() if key in allowed}


def _narrow_slowdown(op: Any, place: Place, faults: list[Fault]) -> Any:
    slowdown = op.get("slowdown") if isinstance(op, dict) else None
    if not _states_too_many(slowdown):
        return op
    detail = (
        f"Op {shown(op.get('id'))}: slowdown must be at most {MAX_CHANNELS + 1:,} fields, got "
        f"{len(slowdown):,} fields."
    )
    faults.append(Fault(pointer((*place, "slowdown")), FaultCode.OUT_OF_RANGE, detail))
    return {**op, "slowdown": None}


def _is_wide_op(op: Any) -> bool:
    return _is_wide(op) or (isinstance(op, dict) and _states_too_many(op.get("slowdown")))


def _states_too_many(slowdown: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(slowdown, dict) and len(slowdown) > MAX_CHANNELS + 1


def _is_wide(value: Any) -> bool:
    return isinstance(value, dict) and len(value) > MAX_OBJECT_FIELDS


def _list(raw: Any, place: tuple[str, ...]) -> list[Any] | None:
    """Return the list at a place of a body; None when there is none."""
    for step in place:
        raw = raw.get(step) if isinstance(raw, dict) else None
    return raw if isinstance(raw, list) else None
