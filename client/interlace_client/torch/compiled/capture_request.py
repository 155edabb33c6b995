"""A captured graph as a request for a plan, and what was assumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from interlace_client.torch.compiled.capture_calls import Calls, TimedNode
from interlace_client.torch.compiled.capture_gpus import GPUS, Gpu, gpu_named
from interlace_client.torch.compiled.capture_measured import (
    from_table,
    from_trace,
    read_trace,
    signature_of,
)
from interlace_client.torch.compiled.capture_memory import number_of
from interlace_client.torch.compiled.capture_networks import Fabric, channels_of
from interlace_client.torch.compiled.capture_reading import calls_of
from interlace_client.torch.compiled.capture_roofline import roofline
from interlace_client.torch.compiled.fingerprint import fingerprint
from interlace_client.torch.compiled.merging import can_merge
from interlace_client.torch.compiled.outside import OUTSIDE, ranks_here
from interlace_client.torch.compiled.program import listed

#: The stream of all compute.
STREAM = "gpu"
#: PyTorch holds what a launch reads until its wait.
INPUTS_HELD = "wait"
#: Gbit/s of a TB/s.
_GBPS = 8000.0


@dataclass(frozen=True)
class Costs:
    """What compute and communication take.

    Attributes
    ----------
    gpu
        A name of :data:`GPUS`, or figures of one's own.
    efficiency, fused, tf32
        Of :func:`~interlace_client.torch.compiled.capture_roofline.roofline`.
    table
        Measured times [us] by signature; they win over the trace and the roofline.
    trace
        A trace of PyTorch's profiler; it wins over the roofline.
    fabric
        The machine between the GPUs.
    channels
        Channels of a cluster by the names of process groups; they win over the fabric.
    """

    gpu: str | Gpu = "h100"
    efficiency: float = 0.6
    fused: bool = True
    tf32: bool = False
    table: Mapping[str, float] | None = None
    trace: str | Path | None = None
    fabric: Fabric = field(default_factory=Fabric)
    channels: Mapping[str, Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class CaptureReport:
    """What was assumed of a captured graph.

    Attributes
    ----------
    notes
        What was assumed, a sentence each.
    unmeasured
        (node, signature) of the calls of compute that neither table nor trace has; they take the
        roofline's time. Empty where neither was given.
    ops, collectives, buffers
        How many there are.
    compute_us
        Sum of the durations [us].
    """

    notes: tuple[str, ...]
    unmeasured: tuple[tuple[str, str], ...]
    ops: int
    collectives: int
    buffers: int
    compute_us: float


@dataclass(frozen=True)
class CapturedGraph:
    """A graph that can be planned.

    Attributes
    ----------
    request
        The body of ``POST /v1/plans``, which ``interlace plan FILE`` takes too.
    report
        What was assumed, and what was not measured.
    fingerprint
        Of the graph that was captured; a plan is for this graph only.
    """

    request: dict[str, Any]
    report: CaptureReport
    fingerprint: str

    def write(self, path: str | Path) -> None:
        """Write the request to a file; the same graph gives the same bytes."""
        Path(path).write_text(json.dumps(self.request, indent=1) + "\n", encoding="utf-8")


def request_of(gm: torch.fx.GraphModule, name: str, costs: Costs) -> CapturedGraph:
    """Write a flat graph with metas as a request for a plan.

    Raises
    ------
    Uncapturable
        With all reasons.
    ValueError
        If the GPU is not known.
    """
    gpu = gpu_named(costs.gpu) if isinstance(costs.gpu, str) else costs.gpu
    read = calls_of(gm)
    times, unmeasured, notes = _times(read, gpu, costs)
    groups = {c.collective.group.name: c.collective.group for c in read.calls if c.collective}
    channels = channels_of(groups.values(), gpu, costs.fabric, costs.channels or {})
    notes.extend(_network_notes(channels, costs))
    graph = {
        "name": name,
        "streams": [{"name": STREAM, "order": "free"}],
        "ops": [_op(call, times) for call in read.calls],
        "buffers": [
            {
                "id": memory.id,
                "bytes": memory.bytes,
                "written_by": memory.writer,
                "read_by": [reader for reader in memory.readers if reader != memory.writer],
                "kept": memory.kept,
            }
            for memory in read.buffers
        ],
    }
    cluster: dict[str, Any] = {"channels": channels} if channels else {"workers": 1}
    options = {"copy_gbps": gpu.memory * _GBPS, "inputs_held": INPUTS_HELD}
    number = sum(call.collective is not None for call in read.calls)
    alone = [c.name for c in read.calls if c.collective and not can_merge(c.node)]
    if alone:
        notes.append(f"Sent alone, as these are not merged: {listed(alone)}.")
    if not number and ranks_here() > 1:
        notes.append(
            f"No collective is in this graph, though {ranks_here()} ranks train. {OUTSIDE}"
        )
    notes.extend(_symbol_notes(gm))
    report = CaptureReport(
        notes=(*notes, *read.notes),
        unmeasured=unmeasured,
        ops=len(read.calls),
        collectives=number,
        buffers=len(read.buffers),
        compute_us=sum(times.values()),
    )
    request = {"graph": graph, "cluster": cluster, "options": options}
    return CapturedGraph(request, report, fingerprint(gm))


def _times(
    read: Calls, gpu: Gpu, costs: Costs
) -> tuple[dict[str, float], tuple[tuple[str, str], ...], list[str]]:
    """Return the time of each call of compute, what was not measured, and what was assumed."""
    kept = frozenset(memory.id for memory in read.buffers if memory.kept)
    times = roofline(
        read.calls, kept, gpu, efficiency=costs.efficiency, fused=costs.fused, tf32=costs.tf32
    )
    measured: dict[str, float] = {}
    if costs.trace is not None:
        measured.update(from_trace(read.calls, read_trace(costs.trace)))
    if costs.table is not None:
        measured.update(from_table(read.calls, costs.table))
    name = next((name for name, known in GPUS.items() if known == gpu), "the GPU given")
    note = (
        f"Compute by roofline: {name} ({gpu.source}), {costs.efficiency} of its FLOP/s, "
        f"{gpu.memory} TB/s, {'tf32' if costs.tf32 else 'fp32'} for products of fp32, "
        f"{'pointwise chains as one kernel' if costs.fused else 'each op alone'}."
    )
    if costs.trace is None and costs.table is None:
        return times, (), [note]
    missing = tuple(
        (call.name, signature_of(call.node))
        for call in read.calls
        if call.name in times and call.name not in measured
    )
    notes = [f"{len(measured)} of {len(times)} ops of compute were measured."]
    return {**times, **measured}, missing, [*notes, *([note] if missing else [])]


def _network_notes(channels: Mapping[str, Mapping[str, Any]], costs: Costs) -> list[str]:
    """Say which channels were made up from the fabric."""
    made = [name for name in channels if name not in (costs.channels or {})]
    if not made:
        return []
    return [f"Costs of collectives by rings, not measured: {', '.join(made)}; {costs.fabric}."]


def _symbol_notes(gm: torch.fx.GraphModule) -> list[str]:
    """Say for which sizes a graph was timed that runs with others too."""
    found: dict[str, int | None] = {}
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and node.op == "placeholder":
            found[str(value)] = number_of(value)
    if not found:
        return []
    sizes = ", ".join(f"{name} = {size}" for name, size in found.items())
    note = (
        f"Sizes that differ from call to call, timed for {sizes}: a plan runs with all sizes, and "
        "is made for these. For a plan of each, compile with dynamic=False and a few sizes."
    )
    return [note]


def _op(call: TimedNode, times: Mapping[str, float]) -> dict[str, Any]:
    """Write a call as an op of a graph."""
    op: dict[str, Any] = {"id": call.name, "after": list(call.after)}
    if call.collective is None:
        duration = round(times[call.name], 6)
        return {**op, "kind": "compute", "duration_us": duration, "stream": STREAM}
    types = {str(t.dtype).removeprefix("torch.") for t in _tensors(call)}
    reduction = [call.collective.reduction] if call.collective.reduction else []
    own = [] if can_merge(call.node) else [call.name]
    key = ",".join([*sorted(types), *reduction, *own])
    return {
        **op,
        "kind": call.collective.kind,
        "bytes": call.bytes,
        "channel": call.collective.group.name,
        "cut": False,
        "fuse_key": key,
    }


def _tensors(call: TimedNode) -> list[torch.Tensor]:
    """List the tensors that a call gives."""
    value = call.node.meta.get("val")
    parts = value if isinstance(value, (list, tuple)) else [value]
    return [part for part in parts if isinstance(part, torch.Tensor)]
