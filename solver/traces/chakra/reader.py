"""MLCommons Chakra ``.et``: one rank's nodes, of which those with time or bytes become the graph.

Profilers write a node for each call on the CPU and for each kernel that it launched; files made by
hand, as ASTRA-sim's, have kernels only. ``ctrl_deps`` nest calls and can form cycles, so the order
comes from ``data_deps`` alone.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import ALL_GATHER, COLLECTIVES, COMPUTE, Op, build
from solver.traces.chakra.codec import (
    COLLECTIVE_NODE,
    COMM_TYPES,
    COMPUTE_NODE,
    NODE_TYPES,
    decode,
    may_begin,
)
from solver.traces.chakra.durations import (
    channels_of,
    only_called,
    tells_time,
    timed_samples,
    untimed_said,
)
from solver.traces.chakra.nodes import ChakraNode, nodes_of
from solver.traces.chakra.ops import ops_of
from solver.traces.exit_check import checked
from solver.traces.files import SEEN, single_file
from solver.traces.report import report_of, totals
from solver.traces.steps import choose_step, step_lengths, step_windows
from solver.traces.trace import Sample, Trace, TraceChannel, TraceOptions

FORMAT = "chakra"


_NO_TIMES = (
    "No compute node has a duration (duration_micros), so there is nothing to plan with: link the "
    "execution trace with its Kineto trace before you convert it, or give those two files."
)


_SHARE = (
    "An all-gather's comm_size is one worker's share, and the file does not say of how many: it is "
    "taken for the whole tensor."
)


#: Of a file that was cut off.
_CUT = "Nodes that came after it are missing, and a step that ends there is not whole."


def looks_like(content: bytes) -> bool:
    """Tell whether a file may be a Chakra trace: its first message says so."""
    if not may_begin(content[:SEEN]):
        return False
    try:
        first = next(decode(content[:SEEN]))
    except (InvalidTrace, StopIteration):
        return False
    is_empty = content[:1] == b"\0" and content[:2] != b"\0\0"
    return is_empty or bool(first.version or first.attr)


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the one file: the compute nodes that take time, and the collectives that have a size.

    A node on the CPU counts when no node off the CPU takes time (or has a size); else it launches
    one. Precedence through nodes that are left out is kept. Nodes of one stream run in the order
    of their ids, that of their launches. Where no ``data_deps`` join compute and collectives, as
    in profilers' files, launches decide.

    Raises
    ------
    InvalidTrace
        A message of another format or cut short before the end, an id twice, a value out of
        range, a cycle, no such step, no collective, no sizes. Pointers are ``/message``, the
        metadata being 0.
    InvalidGraph
        All collectives together are too large.

    Notes
    -----
    O(edges + nodes log nodes).
    """
    step = _read(single_file(files), options.step)  # and its nodes are gone
    graph = build(options.name, step.ops) if step.is_timed else None
    report = report_of(
        FORMAT,
        graph,
        steps=step.steps,
        step=step.step,
        collectives=totals(step.ops),
        dropped=step.dropped,
        repaired=step.repaired,
        assumed=step.assumed if graph else (),
        warnings=step.warnings,
    )
    measured = step.measured if graph else ()
    trace = Trace(graph, report, measured, step.channels, step.samples)
    return checked(trace, on_host=step.on_host)


class _StepRead(NamedTuple):
    """The step that was chosen of a file, and what there is to say of it.

    Attributes
    ----------
    steps, step
        How many the file has, and which this is.
    ops
        In the order of their launches.
    is_timed
        Whether compute has durations.
    dropped, repaired, assumed, warnings, measured, channels, samples
        As in a trace and its report.
    on_host
        Kernels of which the file has the calls alone.
    """

    steps: int
    step: int
    ops: list[Op]
    is_timed: bool
    dropped: tuple[str, ...]
    repaired: tuple[str, ...]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]
    measured: tuple[tuple[str, float], ...]
    channels: tuple[TraceChannel, ...]
    samples: tuple[Sample, ...]
    on_host: tuple[str, ...]


def _read(content: bytes, number: int | None) -> _StepRead:
    """Read a step: of this number, or of median length."""
    nodes, cut = nodes_of(content)
    timed = _one_side([n for n in nodes if n.type == COMPUTE_NODE and n.us])
    steps = step_windows((node.id, node.name) for node in nodes)
    steps = steps[:-1] or steps if cut else steps
    step = choose_step(number, step_lengths(steps, ((node.id, node.us) for node in timed)))
    inside = [node for node in nodes if node.id in steps[step]]
    timed = [node for node in timed if node.id in steps[step]]
    sending = [node for node in inside if node.type == COLLECTIVE_NODE]
    sized = _one_side([node for node in sending if _is_planned(node)])
    if not sized:
        raise InvalidTrace([_nothing_sent(sending)])
    repaired = tuple(_repairs(inside, {node.id for node in nodes}))
    places, ops, assumed = ops_of(inside, {node.id for node in (*timed, *sized)})
    sends = {inside[i].id: op for i, op in zip(places, ops, strict=True) if op.kind != COMPUTE}
    warnings = [f"{cut.said} {_CUT}"] if cut else []
    warnings += [] if timed else [_NO_TIMES]
    if any(node.is_share and sends[node.id].kind == ALL_GATHER for node in sized):
        warnings.append(_SHARE)
    sent = _one_side([node for node in nodes if _is_planned(node)])
    return _StepRead(
        steps=len(steps),
        step=step,
        ops=ops,
        is_timed=bool(timed),
        dropped=tuple(_losses(inside, places)),
        repaired=repaired,
        assumed=(*untimed_said(sized), *assumed),
        warnings=tuple(warnings),
        measured=tuple((sends[n.id].id, float(n.us)) for n in sized if tells_time(n)),
        channels=channels_of(sized),
        samples=tuple(timed_samples(sent)),
        on_host=tuple(only_called(nodes, sized)),
    )


def _is_planned(node: ChakraNode) -> bool:
    """Tell whether a node becomes a collective of a graph."""
    is_known = node.type == COLLECTIVE_NODE and COMM_TYPES.get(node.comm_type) in COLLECTIVES
    return is_known and node.bytes > 0


def _one_side(nodes: Sequence[ChakraNode]) -> Sequence[ChakraNode]:
    """Return the nodes off the CPU, or those on it when there is none."""
    return [node for node in nodes if not node.on_cpu] or nodes


def _nothing_sent(sending: Sequence[ChakraNode]) -> Fault:
    if sending:
        detail = (
            f"None of the {len(sending)} collective nodes has a comm_size and a known comm_type."
        )
        return Fault("", FaultCode.NO_SIZES, detail)
    return Fault("", FaultCode.NO_COLLECTIVE, "The file has no collective node.")


def _losses(inside: Sequence[ChakraNode], places: Iterable[int]) -> Iterator[str]:
    """Say what was left out, by what it is; the others are at the places."""
    stays = bytearray(len(inside))
    for i in places:
        stays[i] = True
    left = [node for node, is_op in zip(inside, stays, strict=True) if not is_op]
    for on_cpu, where in ((True, "on the CPU"), (False, "off the CPU")):
        found = [node for node in left if node.type == COMPUTE_NODE and node.on_cpu == on_cpu]
        if found:
            spent = sum(node.us for node in found)
            yield f"{len(found)} compute nodes {where}, {spent} us in all"
    for kind, count in Counter(_kind(node) for node in left if node.type != COMPUTE_NODE).items():
        yield f"{count} {kind}"
    if any(node.outer for node in inside):
        yield "ctrl_deps: they nest calls and can form cycles"


def _kind(node: ChakraNode) -> str:
    if node.type != COLLECTIVE_NODE:
        return f"{NODE_TYPES.get(node.type, f'unknown (type {node.type})')} nodes"
    if not node.bytes:
        return "collective nodes without comm_size"
    kind = COMM_TYPES.get(node.comm_type, f"unknown (comm_type {node.comm_type})")
    return f"{kind} nodes of {node.bytes} bytes" + " on the CPU" * node.on_cpu


def _repairs(inside: Sequence[ChakraNode], known: Collection[int]) -> Iterator[str]:
    """Say which dependencies lead nowhere, or to their own node."""
    for field, ids in (("data_deps", "after"), ("ctrl_deps", "outer")):
        dangling = own = 0
        for node in inside:
            for j in getattr(node, ids):
                dangling += j not in known
                own += j == node.id
        if dangling:
            yield f"{dangling} {field} name nodes that the file does not have: left out"
        if own:
            yield f"{own} {field} name their own node: left out"
