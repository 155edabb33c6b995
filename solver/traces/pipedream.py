r"""PipeDream's profiles: ``graph.txt``, a forward graph with times and parameter sizes.

Lines are ``nodeID -- description -- forward_compute_time=ms, backward_compute_time=ms,
activation_size=bytes, parameter_size=bytes`` and, indented, ``\tnodeID -- nodeID`` for an edge.
Files edited by hand are read too: any blanks, line ends and order of lines, numbers with or
without a point, ids with or without ``node``, other fields or none beside the three that count.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.limits import MAX_FAULTS_SOUGHT
from solver.traces.files import SEEN, single_text
from solver.traces.formats import TraceFormat, names
from solver.traces.layer_graphs import ASSUMED, layer_of, trace_of
from solver.traces.order import Edge, topological_order
from solver.traces.trace import Trace, TraceOptions

FORMAT = "pipedream"

_ID = re.compile(r"(?:node\s?)?([0-9]{1,18})")
_SPLIT = re.compile(r"(?:^|\s)--(?:\s|$)")
_VALUE = re.compile(r"(?<![a-z_])([a-z_]+)\s?=\s?([^,\s]+)")
_FIELDS = ("forward_compute_time", "backward_compute_time", "parameter_size")
_MARK = re.compile(rb"forward_compute_time\s?=")


class _StageNode(NamedTuple):
    number: int
    description: str
    forward_ms: float
    backward_ms: float
    bytes: int


def looks_like(content: bytes) -> bool:
    """Tell whether a file names the times of PipeDream's nodes."""
    return _MARK.search(content, 0, SEEN) is not None


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the one profile and build the iteration.

    The ops of a pass run one after another in topological order, ties by node number; the backward
    pass in reverse; then the next forward pass, each node waiting for its own all-reduce. Every
    ``Input`` node without parameters is dropped, since its time is that of data loading, and so
    is DAPPLE's ``input_ids``.

    Raises
    ------
    InvalidTrace
        With every line that cannot be read, or when the nodes form a cycle; pointers are
        ``/line``.
    """
    nodes, edges, faults = _parse(single_text(files))
    if not faults and not nodes:
        faults = [Fault("", FaultCode.WRONG_FORMAT, "No node found: not a PipeDream graph.txt.")]
    if faults:
        raise InvalidTrace(first_of(iter(faults)))
    order = [nodes[number] for number in topological_order(nodes, lambda: edges, "node")]
    inputs = [node for node in order if _is_input(node)]
    layers = [
        layer_of(node.number, node.forward_ms, node.backward_ms, node.bytes)
        for node in order
        if not _is_input(node)
    ]
    dropped = [
        f"node{node.number} ({node.description}, {node.forward_ms:g} ms forward): data loading"
        for node in inputs
    ]
    return trace_of(FORMAT, options.name, layers, dropped=dropped, assumed=ASSUMED)


def _is_input(node: _StageNode) -> bool:
    name = node.description
    return not node.bytes and (name.startswith("Input") or name == "input_ids")


def _parse(text: str) -> tuple[dict[int, _StageNode], list[Edge], list[Fault]]:
    """Split a file in nodes, edges with their line, and faults."""
    nodes: dict[int, _StageNode] = {}
    edges: list[Edge] = []
    faults: list[Fault] = []
    for line, content in enumerate(text.splitlines(), start=1):
        fields = [field.strip() for field in _SPLIT.split(content.strip())]
        ids = [_ID.fullmatch(field) for field in fields[:2]]
        if len(faults) > MAX_FAULTS_SOUGHT:
            break
        if fields == [""]:
            continue
        if len(fields) == 2 and ids[0] and ids[1]:  # noqa: PLR2004 - two ends
            edges.append(Edge(int(ids[0][1]), int(ids[1][1]), f"/{line}"))
        elif len(fields) >= 3 and ids[0]:  # noqa: PLR2004 - id, description, values
            node = _node(int(ids[0][1]), fields[1], fields[2:])
            if isinstance(node, str):
                faults.append(Fault(f"/{line}", FaultCode.OUT_OF_RANGE, f"Line {line}: {node}"))
            elif node.number in nodes:
                detail = f"Line {line}: node{node.number} is there twice."
                faults.append(Fault(f"/{line}", FaultCode.DUPLICATE_ID, detail))
            else:
                nodes[node.number] = node
        else:
            faults.append(
                Fault(
                    f"/{line}", FaultCode.WRONG_FORMAT, f"Line {line}: neither a node nor an edge."
                )
            )
    return nodes, edges, faults


def _node(number: int, description: str, fields: Sequence[str]) -> _StageNode | str:
    """Read a node's values, or say what is wrong with them."""
    values = {name: value for field in fields for name, value in _VALUE.findall(field)}
    numbers = []
    for field in _FIELDS:
        try:
            value = float(values[field])
        except (KeyError, ValueError):
            return f"node{number} needs a number for {field}."
        if not math.isfinite(value) or value < 0:
            return f"node{number}: {field} must be 0 or more, got {values[field]}."
        numbers.append(value)
    forward, backward, size = numbers
    return _StageNode(number, description, forward, backward, round(size))


#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="PipeDream's `graph.txt`: one file",
    versions="all, also DAPPLE's and files edited by hand",
    reads="times, parameter bytes, edges",
    assumes="passes in series, inputs dropped",
    refuses="cycles, missing numbers",
    looks_like=looks_like,
    read=read,
    counted="lines",
    layer_mark=b"forward_compute_time=",
    signs=names("forward_compute_time=", "backward_compute_time=", "parameter_size="),
    is_graph=True,
)
