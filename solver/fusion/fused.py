"""The ops after fusion: each bucket is one collective."""

from collections.abc import Iterable

from solver.chain import Chain
from solver.graph import Graph, Op

#: How much of the first tensor's id a fused collective's id keeps.
_ID_CHARACTERS = 480


def fused_ops(graph: Graph, chain: Chain, buckets: Iterable[tuple[int, ...]]) -> tuple[Op, ...]:
    """Replace the tensors of each bucket (chain indices) by one collective; the ops of the result.

    The collective comes after all that any member came after, and every consumer of a member
    comes after it. It keeps its tensor's id when it has one member, and is called after the first
    and the number of the others when it has more.
    """
    positions = chain.positions.tolist()
    names = {op.id for op in graph.ops}
    home: dict[str, str] = {}
    fused: dict[int, Op] = {}
    for members in buckets:
        ops = [graph.ops[positions[i]] for i in members]
        name = ops[0].id if len(ops) == 1 else f"{ops[0].id[:_ID_CHARACTERS]}+{len(ops) - 1}"
        while len(ops) > 1 and name in names:
            name += "'"
        names.add(name)
        after = tuple(dict.fromkeys(other for op in ops for other in op.after))
        size = sum(op.bytes or 0 for op in ops)
        fused[positions[members[0]]] = ops[0]._replace(id=name, bytes=size, after=after)
        home |= {op.id: name for op in ops}
    kept = (fused.get(i) if op.id in home else op for i, op in enumerate(graph.ops))
    return tuple(_rename(op, home) for op in kept if op is not None)


def _rename(op: Op, home: dict[str, str]) -> Op:
    """Let an op come after the buckets of what it came after."""
    if home.keys().isdisjoint(op.after):
        return op
    return op._replace(after=tuple(dict.fromkeys(home.get(other, other) for other in op.after)))
