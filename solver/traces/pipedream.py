r"""PipeDream's profiles: ``graph.txt``, a forward graph with times and parameter sizes.

Lines are ``nodeID -- description -- forward_compute_time=ms, backward_compute_time=ms,
activation_size=bytes, parameter_size=bytes`` and, indented, ``\tnodeID -- nodeID`` for an edge.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from solver.errors import Fault, InvalidTrace
from solver.layers import Layer, iteration
from solver.traces.files import only_text
from solver.traces.trace import Asked, Report, Trace, totals

FORMAT = "pipedream"

_ID = re.compile(r"node(\d{1,18})")
_VALUE = re.compile(r"(\w+)=(\[[^\]]*\]|[^,\s]+)")
_FIELDS = ("forward_compute_time", "backward_compute_time", "parameter_size")


@dataclass(frozen=True, slots=True)
class _Node:
    number: int
    description: str
    forward_ms: float
    backward_ms: float
    bytes: int


def read(files: Sequence[bytes], asked: Asked) -> Trace:
    """Read the one profile and build the iteration.

    The ops of a pass run one after another in topological order, ties by node number; the backward
    pass in reverse; then the next forward pass, each node waiting for its own all-reduce. Every
    ``Input`` node is dropped, since its time is that of data loading.

    Raises
    ------
    InvalidTrace
        With every line that cannot be read, or when the nodes form a cycle; pointers are
        ``/line``.
    """
    nodes, edges, faults = _parse(only_text(files))
    faults += [
        Fault(f"/{line}", "unknown_op", f"Line {line}: the edge names node{end}: no such node.")
        for line, (tail, head) in edges
        for end in (tail, head)
        if end not in nodes
    ]
    if not faults and not nodes:
        faults = [Fault("", "wrong_format", "No node found: not a PipeDream graph.txt.")]
    if faults:
        raise InvalidTrace(faults)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(sorted(nodes))
    graph.add_edges_from(edge for _, edge in edges)
    try:
        order = list(nx.lexicographical_topological_sort(graph))
    except nx.NetworkXUnfeasible:
        cycle = " -> ".join(f"node{tail}" for tail, _ in nx.find_cycle(graph))
        raise InvalidTrace([Fault("", "cycle", f"The nodes form a cycle: {cycle}.")]) from None
    inputs = [n for n in order if nodes[n].description.startswith("Input")]
    kept = [nodes[n] for n in order if not nodes[n].description.startswith("Input")]
    result = iteration(asked.name, [_layer(node) for node in kept])
    dropped = [
        f"node{n} ({nodes[n].description}, {nodes[n].forward_ms:g} ms forward): data loading"
        for n in inputs
    ]
    report = Report(
        format=FORMAT,
        steps=1,
        step=0,
        ops=len(result.ops),
        collectives=totals(result.ops),
        dropped=tuple(dropped),
        assumed=(
            "The ops of a pass run one after another, as on one GPU.",
            "Each node's all-reduce comes after its backward op and before its next forward op.",
        ),
    )
    return Trace(result, report)


def _layer(node: _Node) -> Layer:
    name = f"node{node.number}"
    gradients = ((name, node.bytes),) if node.bytes else ()
    return Layer(name, node.forward_ms * 1000, node.backward_ms * 1000, gradients)


def _parse(text: str) -> tuple[dict[int, _Node], list[tuple[int, tuple[int, int]]], list[Fault]]:
    """Split a file in nodes, edges with their line, and faults."""
    nodes: dict[int, _Node] = {}
    edges: list[tuple[int, tuple[int, int]]] = []
    faults: list[Fault] = []
    for line, content in enumerate(text.splitlines(), start=1):
        fields = [field.strip() for field in content.strip().split(" -- ")]
        ids = [_ID.fullmatch(field) for field in fields[:2]]
        if fields == [""]:
            continue
        if len(fields) == 2 and all(ids):  # noqa: PLR2004 - two ends
            tail, head = (int(found[1]) for found in ids if found)
            edges.append((line, (tail, head)))
        elif len(fields) >= 3 and ids[0]:  # noqa: PLR2004 - id, description, values
            node = _node(int(ids[0][1]), " -- ".join(fields[1:-1]), fields[-1])
            if isinstance(node, str):
                faults.append(Fault(f"/{line}", "out_of_range", f"Line {line}: {node}"))
            elif node.number in nodes:
                detail = f"Line {line}: node{node.number} is there twice."
                faults.append(Fault(f"/{line}", "duplicate_id", detail))
            else:
                nodes[node.number] = node
        else:
            faults.append(
                Fault(f"/{line}", "wrong_format", f"Line {line}: neither a node nor an edge.")
            )
    return nodes, edges, faults


def _node(number: int, description: str, values: str) -> _Node | str:
    """Read a node's values, or say what is wrong with them."""
    found = dict(_VALUE.findall(values))
    numbers = []
    for field in _FIELDS:
        try:
            value = float(found[field])
        except (KeyError, ValueError):
            return f"node{number} needs a number for {field}."
        if not math.isfinite(value) or value < 0:
            return f"node{number}: {field} must be 0 or more, got {found[field]}."
        numbers.append(value)
    forward, backward, size = numbers
    return _Node(number, description, forward, backward, round(size))


def looks_like(content: bytes) -> bool:
    """Tell whether a file may be such a profile: its first line is a node or an edge."""
    first = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:64]
    return re.match(rb"node\d+\s+--\s", first) is not None
