"""Compiled training graphs: ops, buffers and measured channels, as a request body."""

from typing import Any

from solver.graph import ALL_REDUCE, COMPUTE

Json = dict[str, Any]

#: What such a file has, and no request.
_FIELDS = {"ops", "buffers", "channels"}

#: What a channel of one says beside its workers and points, and is not needed.
_BESIDE = {"tables_from"}


def is_compiled(raw: Any) -> bool:
    """Tell whether JSON is a compiled graph."""
    return isinstance(raw, dict) and raw.keys() >= _FIELDS and "graph" not in raw


def compiled_request(raw: Json) -> Json:
    """Return a compiled graph as a request, unchecked: what does not fit stays as it is.

    The order of every stream that an op names is free, collectives are not cut, and the channels
    of the file are those of the cluster, each a table.
    """
    ops = raw["ops"] if isinstance(raw["ops"], list) else []
    streams = {op.get("stream"): None for op in ops if isinstance(op, dict)}
    free = [{"name": name, "order": "free"} for name in streams if isinstance(name, str)]
    graph = {
        "name": raw.get("name", ""),
        "ops": list(map(_uncut, ops)) if isinstance(raw["ops"], list) else raw["ops"],
        "streams": free,
        "buffers": raw["buffers"],
    }
    channels = raw["channels"]
    if isinstance(channels, dict):
        channels = {name: _channel(each) for name, each in channels.items()}
    return {"graph": graph, "cluster": {"channels": channels}}


def _uncut(op: Any) -> Any:
    if not isinstance(op, dict) or op.get("kind") == COMPUTE or "cut" in op:
        return op
    return {**op, "cut": False}


def _channel(channel: Any) -> Any:
    """Return a channel of the file as one of a cluster."""
    if not isinstance(channel, dict) or not isinstance(channel.get("tables"), dict):
        return channel
    own = {name: value for name, value in channel.items() if name not in _BESIDE}
    tables = {kind: points for kind, points in own["tables"].items() if kind != ALL_REDUCE}
    whole = {"table": own["tables"][ALL_REDUCE]} if ALL_REDUCE in own["tables"] else {}
    return {**own, "algorithm": "table", **whole, "tables": tables}
