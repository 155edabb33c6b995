"""The graph after fusion: each bucket is one collective."""

from solver.chain import Buckets, Chain
from solver.graph import ALL_REDUCE, Graph, Op, build

#: How much of the first tensor's id a fused collective's id keeps.
_KEPT = 480


def fused_graph(graph: Graph, chain: Chain, buckets: Buckets) -> Graph:
    """Replace the tensors of each bucket by one collective.

    The collective comes after all that any member came after, and every consumer of a member
    comes after it. It keeps its tensor's id when it has one member, and is called after the first
    and the number of the others when it has more.
    """
    positions = chain.positions.tolist()
    names = {op.id for op in graph.ops}
    home: dict[str, str] = {}
    fused: dict[int, Op] = {}
    for members, size in zip(buckets.members, buckets.bytes.tolist(), strict=True):
        ops = [graph.ops[positions[i]] for i in members]
        name = ops[0].id if len(ops) == 1 else f"{ops[0].id[:_KEPT]}+{len(ops) - 1}"
        while len(ops) > 1 and name in names:
            name += "'"
        names.add(name)
        after = tuple(dict.fromkeys(other for op in ops for other in op.after))
        fused[positions[members[0]]] = Op(name, ALL_REDUCE, None, size, after)
        home |= {op.id: name for op in ops}
    kept = [fused.get(i) if op.id in home else _renamed(op, home) for i, op in enumerate(graph.ops)]
    return build(graph.name, [op for op in kept if op is not None])


def _renamed(op: Op, home: dict[str, str]) -> Op:
    after = tuple(dict.fromkeys(home.get(other, other) for other in op.after))
    return Op(op.id, op.kind, op.duration_us, op.bytes, after)
