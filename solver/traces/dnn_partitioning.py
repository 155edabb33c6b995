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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.models.layers import Layer
from solver.traces.files import SEEN, single_text
from solver.traces.formats import TraceFormat, names
from solver.traces.layer_graphs import ASSUMED, layer_of, trace_of
from solver.traces.order import Edge, topological_order
from solver.traces.trace import Trace, TraceOptions

FORMAT = "dnn_partitioning"

S = TypeVar("S", bound=msgspec.Struct)

_MARK = re.compile(rb'"(?:fpgaLatency|maxSizePerFPGA|isBackwardNode)"\s?:')
_MOST_ID = 10**18
_MOST = 1e18
_NUMBERS = (int, float)
#: What ``isBackwardNode`` may be.
_PASSES = (None, 0, 1)

_ASSUMED = (
    *ASSUMED,
    "A node's parameters are its memory less its output's bytes: the file has no parameter sizes.",
    "Times are milliseconds on the accelerator (fpgaLatency).",
)


class _LayerPass(msgspec.Struct, gc=False, frozen=True):
    """One pass of a layer as it is in the file; ``colour`` is what it shares with the other."""

    id: Any = None
    latency_ms: Any = msgspec.field(name="fpgaLatency", default=None)
    is_backward: Any = msgspec.field(name="isBackwardNode", default=None)
    colour: Any = msgspec.field(name="colorClass", default=None)
    bytes: Any = msgspec.field(name="size", default=None)


class _Edge(msgspec.Struct, gc=False, frozen=True):
    """An edge as it is in the file."""

    tail: Any = msgspec.field(name="sourceId", default=None)
    head: Any = msgspec.field(name="destId", default=None)
    bytes: Any = msgspec.field(name="size", default=None)


class _GraphFile(msgspec.Struct):
    nodes: list[_LayerPass]
    edges: list[_Edge]


_DECODER = msgspec.json.Decoder(_GraphFile)


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
    layers, dropped, warnings = _layers(*_parsed(single_text(files)))
    return trace_of(
        FORMAT, options.name, layers, dropped=dropped, assumed=_ASSUMED, warnings=warnings
    )


def _layers(
    nodes: Sequence[_LayerPass], edges: Sequence[_Edge]
) -> tuple[list[Layer], list[str], list[str]]:
    """Return the layers as they run, which nodes are dropped, and what is unsure."""
    passes = _pair_passes(nodes)
    if all(edge.bytes is None for edge in edges):
        detail = "No edge has a size, so what parameters a node has cannot be told."
        raise InvalidTrace([Fault("/edges", FaultCode.NO_SIZES, detail)])
    leaving, entering = _outputs(edges)

    def between() -> Iterator[Edge]:
        for edge in edges:
            if edge.tail in passes and edge.head in passes:
                yield Edge(edge.tail, edge.head, "")

    order = topological_order(passes, between, "node")
    entered = {edge.head for edge in between()}
    layers, dropped, warnings = list[Layer](), list[str](), list[str]()
    for number in order:
        ahead, back = passes[number]
        output = leaving.get(number, entering.get(back.id))
        size = max(0, round(float(ahead.bytes) - (output or 0.0)))
        forward_ms, backward_ms = float(ahead.latency_ms), float(back.latency_ms)
        if not size and not backward_ms and number not in entered:
            dropped.append(f"node{number} ({forward_ms:g} ms forward): data loading")
        else:
            layers.append(layer_of(number, forward_ms, backward_ms, size))
        if size and output is None:
            warnings.append(
                f"node{number}: no edge tells its output's bytes, so all of its {size:,} bytes "
                "count as parameters."
            )
    return layers, dropped, warnings


def _outputs(edges: Iterable[_Edge]) -> tuple[dict[int, float], dict[int, float]]:
    """Return the most bytes that leave, and that enter, each node."""
    leaving, entering = dict[int, float](), dict[int, float]()
    for edge in edges:
        if edge.bytes is not None:
            size = float(edge.bytes)
            leaving[edge.tail] = max(leaving.get(edge.tail, 0.0), size)
            entering[edge.head] = max(entering.get(edge.head, 0.0), size)
    return leaving, entering


def _pair_passes(nodes: Sequence[_LayerPass]) -> dict[int, tuple[_LayerPass, _LayerPass]]:
    """Put the forward and the backward node of each colour class together, by the former's id."""
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
    pairs: dict[int, tuple[_LayerPass, _LayerPass]] = {}
    for colour, members in classes.items():
        members.sort(key=_pass)
        if [_pass(node) for node in members] != [False, True]:
            detail = (
                f"Colour class {colour} has {len(members)} nodes, not one forward and one "
                "backward node: only layer graphs are read, not operator graphs."
            )
            faults.append(Fault("/nodes", FaultCode.UNPAIRED, detail))
        else:
            pairs[members[0].id] = (members[0], members[1])
    if faults:
        raise InvalidTrace(first_of(iter(faults)))
    return pairs


def _pass(node: _LayerPass) -> bool:
    return bool(node.is_backward)


def _parsed(text: str) -> tuple[list[_LayerPass], list[_Edge]]:
    """Read the JSON; with every fault."""
    nodes, edges = _decoded(text)
    if len({node.id for node in nodes if node is not None and _is_sound(node)}) < len(nodes):
        faults = first_of(_node_faults(nodes))
        if faults:
            raise InvalidTrace(faults)
    sound = [node for node in nodes if node is not None]
    if faults := first_of(_edge_faults(edges, {node.id for node in sound})):
        raise InvalidTrace(faults)
    return sound, [edge for edge in edges if edge is not None]


def _decoded(text: str) -> tuple[Sequence[_LayerPass | None], Sequence[_Edge | None]]:
    """Return nodes and edges with whatever their fields are; None in the place of no object."""
    try:
        file = _DECODER.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass  # json takes NaN, and tells what is no JSON from what is none of this format
    else:
        return file.nodes, file.edges
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
    return [_struct(node, _LayerPass) for node in nodes], [_struct(edge, _Edge) for edge in edges]


def _struct(fields: Any, kind: type[S]) -> S | None:
    """Return an object of JSON as one of a kind, unchecked; None of what is no object."""
    if not isinstance(fields, dict):
        return None
    return kind(*map(fields.get, kind.__struct_encode_fields__))


def _is_sound(node: _LayerPass) -> bool:
    """Tell whether there is plainly nothing to say against a node by itself."""
    return (
        type(node.id) is int
        and 0 <= node.id <= _MOST_ID
        and type(node.colour) is int
        and 0 <= node.colour <= _MOST_ID
        and node.is_backward in _PASSES
        and type(node.latency_ms) in _NUMBERS
        and 0 <= node.latency_ms <= _MOST
        and type(node.bytes) in _NUMBERS
        and 0 <= node.bytes <= _MOST
    )


def _node_faults(nodes: Sequence[_LayerPass | None]) -> Iterator[Fault]:
    seen: set[int] = set()
    for i, node in enumerate(nodes):
        pointer = f"/nodes/{i}"
        if node is None:
            yield Fault(pointer, FaultCode.WRONG_TYPE, f"Node {i} is no object.")
            continue
        if not _is_id(node.id):
            detail = f"Node {i}: id must be an integer from 0 to 10^18."
            yield Fault(f"{pointer}/id", FaultCode.WRONG_TYPE, detail)
        elif node.id in seen:
            yield Fault(
                f"{pointer}/id", FaultCode.DUPLICATE_ID, f"Node {i}: id {node.id} is taken."
            )
        else:
            seen.add(node.id)
        if node.is_backward not in _PASSES:
            detail = f"Node {i}: isBackwardNode must be true, false, 1 or 0."
            yield Fault(f"{pointer}/isBackwardNode", FaultCode.WRONG_TYPE, detail)
        for field, value in (("fpgaLatency", node.latency_ms), ("size", node.bytes)):
            if not _is_amount(value):
                detail = f"Node {i}: {field} must be a number, 0 or more."
                yield Fault(f"{pointer}/{field}", FaultCode.OUT_OF_RANGE, detail)
        if node.colour is not None and not _is_id(node.colour):
            detail = f"Node {i}: colorClass must be an integer from 0 to 10^18."
            yield Fault(f"{pointer}/colorClass", FaultCode.WRONG_TYPE, detail)


def _edge_faults(edges: Sequence[_Edge | None], known: set[int]) -> Iterator[Fault]:
    for i, edge in enumerate(edges):
        if edge is None:
            yield Fault(f"/edges/{i}", FaultCode.WRONG_TYPE, f"Edge {i} is no object.")
            continue
        for field, value in (("sourceId", edge.tail), ("destId", edge.head)):
            if not _is_id(value) or value not in known:
                detail = f"Edge {i}: {field} must be the id of a node."
                yield Fault(f"/edges/{i}/{field}", FaultCode.UNKNOWN_OP, detail)
        if edge.bytes is not None and not _is_amount(edge.bytes):
            detail = f"Edge {i}: size must be a number, 0 or more."
            yield Fault(f"/edges/{i}/size", FaultCode.OUT_OF_RANGE, detail)


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
