"""What a request for a plan says to simulations and sweeps, unchecked: barrier, programs."""

from typing import Any

from app.schemas.program_options import ProgramOptionsBody

Json = dict[str, Any]


def options_of(request: Json, model: type[ProgramOptionsBody]) -> Json:
    """Return what a request says of programs in its options, unchecked."""
    options = request.get("options")
    own = options if isinstance(options, dict) else {}
    return {name: own[name] for name in model.model_fields if own.get(name) is not None}


def has_order(graph: Any) -> bool:
    """Tell whether an unchecked graph has what only programs know of."""
    if not isinstance(graph, dict):
        return False
    streams, ops = (_objects(graph.get(name)) for name in ("streams", "ops"))
    is_free = any(stream.get("order") == "free" for stream in streams)
    return is_free or bool(graph.get("buffers")) or any(op.get("cut") is False for op in ops)


def _objects(values: Any) -> list[Json]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def barrier_of(request: Json) -> Json:
    """Return the barrier of a request for a plan as that of a simulation or a sweep."""
    own = request.get("options")
    return {"barrier": own["barrier"]} if isinstance(own, dict) and "barrier" in own else {}


def limits_of(request: Json) -> Json:
    """Return the limits of memory of a request for a plan as those of a sweep."""
    own = request.get("options")
    if not isinstance(own, dict):
        return {}
    several, one = own.get("memory_limits_bytes"), own.get("memory_limit_bytes")
    limits = several if several is not None else [one] if one is not None else None
    return {} if limits is None else {"memory_limits_bytes": limits}
