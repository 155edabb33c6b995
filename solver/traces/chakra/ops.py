"""The ops of a step: nodes that take time or have a size, in the order of their launches."""

from collections.abc import Collection, Mapping, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import COMPUTE, Op
from solver.graph.links import short_cycle
from solver.limits import MAX_LAUNCH_EDGES
from solver.traces.chakra.codec import COLLECTIVE_NODE, COMM_TYPES
from solver.traces.chakra.nodes import ChakraNode
from solver.traces.contraction import contract, order_nodes

#: So many nodes of a cycle are named.
_SHOWN = 8

_RELEASED = (
    "No data_deps join compute and collectives, so launches decide: a collective waits for the "
    "compute launched before it."
)

_CONSUMED = (
    "What is launched after the last collective waits for all of them: the file does not say what "
    "consumes which."
)


def ops_of(
    inside: Sequence[ChakraNode], staying: Collection[int]
) -> tuple[list[int], list[Op], tuple[str, ...]]:
    """Make ops in the order of launches.

    Parameters
    ----------
    inside
        The nodes of the step, by id.
    staying
        Ids of those that become ops; where others join several of these, they do as well.

    Returns
    -------
    tuple
        The places of their nodes, the ops, and what the order of launches was taken to mean.

    Raises
    ------
    InvalidTrace
        When nodes form a cycle, or too many collectives stand beside too many streams.

    Notes
    -----
    O(edges + nodes log nodes).
    """
    index = {node.id: i for i, node in enumerate(inside)}
    preds = [_placed(node, index) for node in inside]
    succs, order = order_nodes(preds)
    if len(order) < len(inside):
        raise InvalidTrace([_cycle(inside, short_cycle(preds, succs, order))])
    stays = {index[number] for number in staying}
    del index, succs  # they are as large as the nodes
    after: Mapping[int, Sequence[int]] = contract(preds, order, stays)
    del preds, order
    sends = {i for i in stays if inside[i].type == COLLECTIVE_NODE}
    by_launch = _is_launch_order(inside, after, stays, sends)
    if by_launch:
        after = _joined_launches(inside, after, stays, sends)
    names = _names(inside, after)
    ops: list[Op] = []
    for i, above in after.items():
        node, name = inside[i], names[i]
        before = tuple([names[j] for j in dict.fromkeys(above)])
        if i in sends:
            op = Op(name, COMM_TYPES[node.comm_type], None, node.bytes, before, node.channel)
        elif i in stays:
            op = Op(name, COMPUTE, float(node.us), None, before, stream=node.stream)
        else:
            op = Op(name, COMPUTE, 0.0, None, before)
        ops.append(op)
    return list(after), ops, (_RELEASED, _CONSUMED) if by_launch else ()


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


def _names(nodes: Sequence[ChakraNode], places: Collection[int]) -> list[str]:
    """Name nodes as the file does, and by their ids too where it gives a name at places twice."""
    if len({nodes[i].name for i in places}) == len(places):
        return [node.name for node in nodes]
    names = [""] * len(nodes)
    for i in places:
        names[i] = f"{nodes[i].name} {nodes[i].id}"
    return names


def _cycle(inside: Sequence[ChakraNode], cycle: Sequence[int]) -> Fault:
    shown = [str(inside[i].id) for i in cycle[:_SHOWN]] + ["..."] * (len(cycle) > _SHOWN)
    detail = f"Nodes wait for one another in a cycle of {len(cycle)}: {' -> '.join(shown)}."
    return Fault(f"/{inside[cycle[0]].place}", FaultCode.CYCLE, detail)
