"""Layer graphs of msr-fiddle/dnn-partitioning: JSON of forward and backward nodes.

A node is ``{"id", "fpgaLatency" (ms), "isBackwardNode", "colorClass", "size" (bytes)}``, an edge
``{"sourceId", "destId", "size" (bytes)}``; "FPGA" is any accelerator. A forward node and the
backward node of its colour class are the two passes of one layer, and edges between backward nodes
point as those between forward nodes do.

The file has no parameter sizes. ``size`` of a node is its memory: its parameters and its output;
and the output's bytes are those of the edges that leave the node. Those of a last node are those
of the edges that enter its backward node, since what flows back to an output is as large. So the
parameters are what is left. On ResNet-50 that gives PipeDream's sizes, layer by layer.

References
----------
.. [1] J. Tarnawski et al., Efficient Algorithms for Device Placement of DNN Graph Operators,
       NeurIPS 2020; README of the code, "Input format".
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.traces.files import SEEN, single_text
from solver.traces.formats import TraceFormat, names
from solver.traces.layer_graphs import ASSUMED, layer_of, trace_of
from solver.traces.order import Edge, topological_order
from solver.traces.trace import Trace, TraceOptions

FORMAT = "dnn_partitioning"

_MARK = re.compile(rb'"(?:fpgaLatency|maxSizePerFPGA|isBackwardNode)"\s?:')
_MOST_ID = 10**18
_MOST = 1e18

_ASSUMED = (
    *ASSUMED,
    "A node's parameters are its memory less its output's bytes: the file has no parameter sizes.",
    "Times are milliseconds on the accelerator (fpgaLatency).",
)


class _LayerPass(NamedTuple):
    """One pass of a layer; ``colour`` is what it shares with the other."""

    id: int
    latency_ms: float
    is_backward: bool
    colour: int | None
    bytes: float


class _Edge(NamedTuple):
    tail: int
    head: int
    bytes: float | None


class _Pair(NamedTuple):
    """Both passes of a layer, and the bytes of its parameters."""

    forward: _LayerPass
    backward: _LayerPass
    bytes: int


def looks_like(content: bytes) -> bool:
    """Tell whether a file names the fields of this format."""
    return _MARK.search(content, 0, SEEN) is not None


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the one graph and build the iteration.

    Layers run in topological order of the forward nodes, ties by id. A first node that has neither
    parameters nor a backward time is dropped: its time is that of data loading.

    Raises
    ------
    InvalidTrace
        With every node and edge that cannot be read; when there is no backward pass
        (``no_backward``), a colour class is not one forward and one backward node (``unpaired``),
        no edge has a size (``no_sizes``), or the forward nodes form a cycle.
    """
    nodes, edges = _parse_lines(single_text(files))
    passes = _pair_passes(nodes)
    if all(edge.bytes is None for edge in edges):
        detail = "No edge has a size, so what parameters a node has cannot be told."
        raise InvalidTrace([Fault("/edges", FaultCode.NO_SIZES, detail)])
    outputs = _outputs(edges)
    pairs = {forward.id: _pair(forward, other, outputs) for forward, other in passes}
    between = [Edge(e.tail, e.head, "") for e in edges if e.tail in pairs and e.head in pairs]
    order = [pairs[number] for number in topological_order(list(pairs), between, "node")]
    entered = {edge.head for edge in between}
    is_input = [pair.forward.id not in entered and _is_idle(pair) for pair in order]
    layers = [
        layer_of(ahead.id, ahead.latency_ms, back.latency_ms, size)
        for (ahead, back, size), drop in zip(order, is_input, strict=True)
        if not drop
    ]
    dropped = (
        f"node{pair.forward.id} ({pair.forward.latency_ms:g} ms forward): data loading"
        for pair, drop in zip(order, is_input, strict=True)
        if drop
    )
    warnings = _unsure(order, outputs)
    return trace_of(
        FORMAT, options.name, layers, dropped=dropped, assumed=_ASSUMED, warnings=warnings
    )


def _is_idle(pair: _Pair) -> bool:
    return not pair.bytes and not pair.backward.latency_ms


def _outputs(edges: Iterable[_Edge]) -> dict[tuple[str, int], float]:
    """Return the most bytes that leave, and that enter, each node."""
    most_bytes: dict[tuple[str, int], float] = {}
    for edge in edges:
        for key in (("leave", edge.tail), ("enter", edge.head)):
            if edge.bytes is not None:
                most_bytes[key] = max(most_bytes.get(key, 0.0), edge.bytes)
    return most_bytes


def _pair(
    forward: _LayerPass, backward: _LayerPass, outputs: Mapping[tuple[str, int], float]
) -> _Pair:
    """Take a layer's output from its memory."""
    output = outputs.get(("leave", forward.id), outputs.get(("enter", backward.id), 0.0))
    return _Pair(forward, backward, max(0, round(forward.bytes - output)))


def _unsure(pairs: Iterable[_Pair], outputs: Mapping[tuple[str, int], float]) -> Iterator[str]:
    for forward, backward, size in pairs:
        if size and ("leave", forward.id) not in outputs and ("enter", backward.id) not in outputs:
            yield (
                f"node{forward.id}: no edge tells its output's bytes, so all of its {size:,} bytes "
                "count as parameters."
            )


def _pair_passes(nodes: Sequence[_LayerPass]) -> list[tuple[_LayerPass, _LayerPass]]:
    """Put the forward and the backward node of each colour class together."""
    if not any(node.is_backward for node in nodes):
        detail = "No node is a backward node: this is inference, which sends no gradients."
        raise InvalidTrace([Fault("/nodes", FaultCode.NO_BACKWARD, detail)])
    classes: dict[int, list[_LayerPass]] = {}
    faults = []
    for i, node in enumerate(nodes):
        if node.colour is None:
            detail = f"Node {node.id} has no colorClass, so its other pass is not known."
            faults.append(Fault(f"/nodes/{i}", FaultCode.UNPAIRED, detail))
        else:
            classes.setdefault(node.colour, []).append(node)
    for colour, members in classes.items():
        if [node.is_backward for node in sorted(members, key=_pass)] != [False, True]:
            detail = (
                f"Colour class {colour} has {len(members)} nodes, not one forward and one "
                "backward node: only layer graphs are read, not operator graphs."
            )
            faults.append(Fault("/nodes", FaultCode.UNPAIRED, detail))
    if faults:
        raise InvalidTrace(first_of(iter(faults)))
    pairs = [sorted(members, key=_pass) for members in classes.values()]
    return [(forward, backward) for forward, backward in pairs]


def _pass(node: _LayerPass) -> bool:
    return node.is_backward


def _parse_lines(text: str) -> tuple[list[_LayerPass], list[_Edge]]:
    """Read the JSON; with every fault."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidTrace(
            [Fault("", FaultCode.NOT_JSON, "Not JSON, or nested too deeply.")]
        ) from None
    whole = content if isinstance(content, dict) else {}
    nodes, edges = whole.get("nodes"), whole.get("edges")
    if not isinstance(nodes, list) or not isinstance(edges, list):
        detail = "A graph needs a list of nodes and a list of edges."
        raise InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])
    faults = first_of(_node_faults(nodes))
    if not faults:
        faults = first_of(_edge_faults(edges, {node["id"] for node in nodes}))
    if faults:
        raise InvalidTrace(faults)
    return [_node(node) for node in nodes], [_edge(edge) for edge in edges]


def _node(fields: Mapping[str, Any]) -> _LayerPass:
    return _LayerPass(
        fields["id"],
        float(fields["fpgaLatency"]),
        bool(fields.get("isBackwardNode")),
        fields.get("colorClass"),
        float(fields["size"]),
    )


def _edge(fields: Mapping[str, Any]) -> _Edge:
    size = fields.get("size")
    return _Edge(fields["sourceId"], fields["destId"], None if size is None else float(size))


def _node_faults(nodes: Sequence[Any]) -> Iterator[Fault]:
    seen: set[int] = set()
    for i, node in enumerate(nodes):
        pointer = f"/nodes/{i}"
        if not isinstance(node, dict):
            yield Fault(pointer, FaultCode.WRONG_TYPE, f"Node {i} is no object.")
            continue
        if not _is_id(node.get("id")):
            detail = f"Node {i}: id must be an integer from 0 to 10^18."
            yield Fault(f"{pointer}/id", FaultCode.WRONG_TYPE, detail)
        elif node["id"] in seen:
            yield Fault(
                f"{pointer}/id", FaultCode.DUPLICATE_ID, f"Node {i}: id {node['id']} is taken."
            )
        else:
            seen.add(node["id"])
        if node.get("isBackwardNode") not in (None, 0, 1):
            detail = f"Node {i}: isBackwardNode must be true, false, 1 or 0."
            yield Fault(f"{pointer}/isBackwardNode", FaultCode.WRONG_TYPE, detail)
        for field in ("fpgaLatency", "size"):
            if not _is_amount(node.get(field)):
                detail = f"Node {i}: {field} must be a number, 0 or more."
                yield Fault(f"{pointer}/{field}", FaultCode.OUT_OF_RANGE, detail)
        if node.get("colorClass") is not None and not _is_id(node["colorClass"]):
            detail = f"Node {i}: colorClass must be an integer from 0 to 10^18."
            yield Fault(f"{pointer}/colorClass", FaultCode.WRONG_TYPE, detail)


def _edge_faults(edges: Sequence[Any], known: set[int]) -> Iterator[Fault]:
    for i, edge in enumerate(edges):
        pointer = f"/edges/{i}"
        if not isinstance(edge, dict):
            yield Fault(pointer, FaultCode.WRONG_TYPE, f"Edge {i} is no object.")
            continue
        for field in ("sourceId", "destId"):
            if not _is_id(edge.get(field)) or edge[field] not in known:
                detail = f"Edge {i}: {field} must be the id of a node."
                yield Fault(f"{pointer}/{field}", FaultCode.UNKNOWN_OP, detail)
        if edge.get("size") is not None and not _is_amount(edge["size"]):
            detail = f"Edge {i}: size must be a number, 0 or more."
            yield Fault(f"{pointer}/size", FaultCode.OUT_OF_RANGE, detail)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_ID


def _is_amount(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= _MOST and math.isfinite(value)


#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="Layer graphs of msr-fiddle/dnn-partitioning: one file of JSON",
    versions="that of NeurIPS 2020",
    reads="times, pairs of nodes, edges",
    assumes="parameters are memory less output",
    refuses="inference, operator graphs, no edge sizes",
    looks_like=looks_like,
    read=read,
    counted="values",
    signs=names('"nodes"', '"edges"', '"isBackwardNode"', '"fpgaLatency"'),
    is_graph=True,
)
