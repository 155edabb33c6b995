"""MLCommons Chakra ``.et``: one rank's nodes, of which those with time or bytes become the graph.

Profilers write a node for each call on the CPU and for each kernel that it launched; files made by
hand, as ASTRA-sim's, have kernels only. ``ctrl_deps`` nest calls and can form cycles, so the order
comes from ``data_deps`` alone.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import ALL_GATHER, COLLECTIVES, COMPUTE, Op, build
from solver.graph.links import short_cycle
from solver.limits import MAX_LAUNCH_EDGES
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
from solver.traces.contraction import contract, order_nodes
from solver.traces.exit_check import checked
from solver.traces.files import SEEN, single_file
from solver.traces.report import report_of, totals
from solver.traces.steps import choose_step, step_lengths, step_windows
from solver.traces.trace import Trace, TraceOptions

FORMAT = "chakra"


#: So many nodes of a cycle are named.
_SHOWN = 8


_NO_TIMES = (
    "No compute node has a duration (duration_micros), so there is nothing to plan with: link the "
    "execution trace with its Kineto trace before you convert it, or give those two files."
)


_SHARE = (
    "An all-gather's comm_size is one worker's share, and the file does not say of how many: it is "
    "taken for the whole tensor."
)


_RELEASED = (
    "No data_deps join compute and collectives, so launches decide: a collective waits for the "
    "compute launched before it."
)


_CONSUMED = (
    "What is launched after the last collective waits for all of them: the file does not say what "
    "consumes which."
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
    nodes, cut = nodes_of(single_file(files))
    known = {node.id for node in nodes}
    timed = _one_side([n for n in nodes if n.type == COMPUTE_NODE and n.us])
    steps = step_windows((node.id, node.name) for node in nodes)
    steps = steps[:-1] or steps if cut else steps
    step = choose_step(options.step, step_lengths(steps, ((node.id, node.us) for node in timed)))
    inside = [node for node in nodes if node.id in steps[step]]
    timed = [node for node in timed if node.id in steps[step]]
    sending = [node for node in inside if node.type == COLLECTIVE_NODE]
    sized = _one_side([node for node in sending if _is_planned(node)])
    if not sized:
        raise InvalidTrace([_nothing_sent(sending)])
    ops, assumed = _ops(inside, {node.id for node in (*timed, *sized)})
    names = {node.id: op.id for node, op in ops}
    warnings = [f"{cut.said} {_CUT}"] if cut else []
    warnings += [] if timed else [_NO_TIMES]
    if any(node.is_share and op.kind == ALL_GATHER for node, op in ops):
        warnings.append(_SHARE)
    graph = build(options.name, [op for _, op in ops]) if timed else None
    report = report_of(
        FORMAT,
        graph,
        steps=len(steps),
        step=step,
        collectives=totals(op for _, op in ops),
        dropped=_losses(inside, names),
        repaired=_repairs(inside, known),
        assumed=(*untimed_said(sized), *assumed) if graph else (),
        warnings=warnings,
    )
    measured = [(names[node.id], float(node.us)) for node in sized if graph and tells_time(node)]
    sent = _one_side([node for node in nodes if _is_planned(node)])
    trace = Trace(graph, report, tuple(measured), channels_of(sized), tuple(timed_samples(sent)))
    return checked(trace, on_host=only_called(nodes, sized))


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


def _ops(
    inside: Sequence[ChakraNode], staying: Collection[int]
) -> tuple[list[tuple[ChakraNode, Op]], tuple[str, ...]]:
    """Make the ops, in the order of launches, and say what that order was taken to mean."""
    index = {node.id: i for i, node in enumerate(inside)}
    preds = [_placed(node, index) for node in inside]
    succs, order = order_nodes(preds)
    if len(order) < len(inside):
        raise InvalidTrace([_cycle(inside, short_cycle(preds, succs, order))])
    stays = {index[number] for number in staying}
    after: Mapping[int, Sequence[int]] = contract(preds, order, stays)
    del index, preds, succs, order  # they are as large as the nodes
    sends = {i for i in stays if inside[i].type == COLLECTIVE_NODE}
    by_launch = _is_launch_order(inside, after, stays, sends)
    if by_launch:
        after = _joined_launches(inside, after, stays, sends)
    names = _names([inside[i] for i in after])
    ops: list[tuple[ChakraNode, Op]] = []
    for i, above in after.items():
        node = inside[i]
        before = tuple(names[inside[j].id] for j in dict.fromkeys(above))
        name = names[node.id]
        if i in sends:
            op = Op(name, COMM_TYPES[node.comm_type], None, node.bytes, before, node.channel)
        elif i in stays:
            op = Op(name, COMPUTE, float(node.us), None, before, stream=node.stream)
        else:
            op = Op(name, COMPUTE, 0.0, None, before)
        ops.append((node, op))
    return ops, (_RELEASED, _CONSUMED) if by_launch else ()


def _placed(node: ChakraNode, index: Mapping[int, int]) -> tuple[int, ...]:
    """Return the places of the nodes that one comes after, without repeats and itself."""
    if not node.after:
        return ()
    found = [index[j] for j in node.after if j in index and j != node.id]
    return tuple(found if len(found) < 2 else dict.fromkeys(found))  # noqa: PLR2004


def _is_launch_order(
    inside: Sequence[ChakraNode],
    after: Mapping[int, Sequence[int]],
    stays: Collection[int],
    sends: Collection[int],
) -> bool:
    """Tell whether a profiler wrote launches and streams, and nothing joins compute and sends."""
    computes = [inside[i] for i in stays if i not in sends]
    return (
        all(node.outer and node.stream for node in computes)
        and bool(computes)
        and not any((i in sends) != (j in sends) for i, above in after.items() for j in above)
    )


def _joined_launches(
    inside: Sequence[ChakraNode],
    above: Mapping[int, Sequence[int]],
    stays: Collection[int],
    sends: Collection[int],
) -> Mapping[int, Sequence[int]]:
    """Join compute and collectives by the order of their launches, each stream once."""
    after = {i: list(before) for i, before in above.items()}
    launched = [i for i in after if i in stays]
    streams = {inside[i].stream for i in launched if i not in sends}
    if len(streams) * len(sends) > MAX_LAUNCH_EDGES:
        detail = f"{len(sends)} collectives beside {len(streams)} streams: too many to join."
        raise InvalidTrace([Fault("", FaultCode.TOO_MANY_STREAMS, detail)])
    last = max(place for place, i in enumerate(launched) if i in sends)
    running: dict[str | None, int] = {}
    for i in launched[: last + 1]:
        if i in sends:
            after[i].extend(running.values())
        else:
            running[inside[i].stream] = i
    first = {inside[i].stream: i for i in reversed(launched[last + 1 :])}
    for i in first.values():
        after[i].extend(sorted(sends))
    return after


def _names(nodes: Sequence[ChakraNode]) -> dict[int, str]:
    """Name nodes as the file does, and by their ids too where it gives a name twice."""
    if len({node.name for node in nodes}) == len(nodes):
        return {node.id: node.name for node in nodes}
    return {node.id: f"{node.name} {node.id}" for node in nodes}


def _cycle(inside: Sequence[ChakraNode], cycle: Sequence[int]) -> Fault:
    shown = [str(inside[i].id) for i in cycle[:_SHOWN]] + ["..."] * (len(cycle) > _SHOWN)
    detail = f"Nodes wait for one another in a cycle of {len(cycle)}: {' -> '.join(shown)}."
    return Fault(f"/{inside[cycle[0]].place}", FaultCode.CYCLE, detail)


def _losses(inside: Sequence[ChakraNode], names: Mapping[int, str]) -> Iterator[str]:
    """Say what was left out, by what it is."""
    left = [node for node in inside if node.id not in names]
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
