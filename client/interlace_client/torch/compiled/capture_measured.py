"""Times of calls that were measured: by signature, or in a profiler's trace."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from interlace_client.torch.compiled.capture_calls import TimedNode
from interlace_client.torch.compiled.fingerprint import target_of

#: Categories of the events of kernels in PyTorch's traces.
_KERNELS = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel"}
_HOST = {"cpu_op", "user_annotation", "Operator"}


def signature_of(node: torch.fx.Node) -> str:
    """Name what a node computes, with types and shapes: ``aten.relu.default(float32[8,16])``.

    Only inputs that are tensors count; nodes of one signature are taken to last equally long.
    """
    given = (_described(other.meta.get("val")) for other in node.all_input_nodes)
    return f"{target_of(node)}({', '.join(each for each in given if each)})"


def from_table(calls: Sequence[TimedNode], table: Mapping[str, float]) -> dict[str, float]:
    """Return the times that a table has of calls of compute, by signature [us]."""
    times = {}
    for call in calls:
        signature = signature_of(call.node)
        if call.collective is None and signature in table:
            times[call.name] = float(table[signature])
    return times


def read_trace(path: str | Path) -> list[dict[str, Any]]:
    """Read the events of a trace of PyTorch's profiler (JSON, plain or gzip)."""
    content = Path(path).read_bytes()
    raw = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    events = raw["traceEvents"] if isinstance(raw, dict) else raw
    return [event for event in events if event.get("ph") == "X" and "dur" in event]


def from_trace(calls: Sequence[TimedNode], events: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the times that a trace has of calls of compute [us].

    A call is the event of the node's name, as ``record_function(node.name)`` makes it; of several
    the median. Of those left, the calls of an op are the outermost events of that op (``aten::mm``)
    one after another, if there are as many of them. An event lasts as long as the kernels that were
    launched in it, where the trace has kernels, else as long as itself.

    Notes
    -----
    O(events log events).
    """
    compute = [call for call in calls if call.collective is None]
    times_of = _timed(events)
    times = {}
    for call in compute:
        found = sorted(times_of.get(call.name, []))
        if found:
            times[call.name] = found[len(found) // 2]
    by_op: dict[str, list[TimedNode]] = {}
    for call in compute:
        schema = getattr(call.node.target, "_schema", None)
        if schema is not None:
            by_op.setdefault(schema.name, []).append(call)
    for op, same in by_op.items():
        found = times_of.get(op, [])
        if len(found) == len(same):
            for call, time in zip(same, found):
                times.setdefault(call.name, time)
    return times


def _timed(events: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Return the times of the outermost events of each name, in the order of their starts [us]."""
    kernels: dict[Any, float] = {}
    has_kernels = False
    for event in events:
        if event.get("cat") in _KERNELS:
            has_kernels = True
            key = event.get("args", {}).get("External id")
            kernels[key] = kernels.get(key, 0.0) + event["dur"]
    host = [event for event in events if event.get("cat") in _HOST]
    host.sort(key=lambda event: (event["ts"], -event["dur"]))
    open_: dict[Any, list[tuple[float, str, list[float]]]] = {}
    found: dict[str, list[list[float]]] = {}
    for event in host:
        stack = open_.setdefault((event.get("pid"), event.get("tid")), [])
        while stack and event["ts"] >= stack[-1][0]:
            stack.pop()
        name = str(event["name"])
        own = kernels.get(event.get("args", {}).get("External id"), 0.0)
        time = [own if has_kernels else float(event["dur"])]
        if has_kernels:
            for _, _, outer in stack:
                outer[0] += own
        if all(name != outer for _, outer, _ in stack):
            found.setdefault(name, []).append(time)
        stack.append((event["ts"] + event["dur"], name, time))
    return {name: [time[0] for time in times] for name, times in found.items()}


def _described(value: Any) -> str:
    """Write type and shape of a tensor, or of each of a sequence."""
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"{kind}[{','.join(str(size) for size in value.shape)}]"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_described(part) for part in value)}]"
    return ""
