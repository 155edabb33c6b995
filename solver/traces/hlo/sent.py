"""What a collective sends: its kind, its bytes by the convention of graphs, its devices."""

from typing import NamedTuple

from solver.graph import BROADCAST, REDUCE_SCATTER
from solver.traces.hlo.groups import Groups, groups_of
from solver.traces.hlo.module import HloInstruction, HloModule
from solver.traces.hlo.shapes import Shape, bytes_of, element_bytes, leaves
from solver.traces.xla.hlo import KINDS, START

_PERMUTE = "collective-permute"
#: What sends, and the kind of each in a graph: a permute is a broadcast between two.
SENDING = {**KINDS, _PERMUTE: BROADCAST}


class SentTensors(NamedTuple):
    """What a collective sends.

    Attributes
    ----------
    kind
        Of :mod:`solver.graph`.
    bytes
        Of the whole tensor: of a reduce-scatter what all shares are together, of all others the
        result, which of an all-to-all is what one device holds.
    groups, are_pairs
        Who takes part; whether each sends to one other alone.
    workers
        Of the largest group, or 2.
    tensors
        How many arrays it carries.
    fuse_key
        The types of its elements, and what is done with them: XLA combines the same alone.
    element_bytes
        Of its widest element.
    is_async
        Whether it is a start and a done in the text.
    """

    kind: str
    bytes: int
    groups: Groups
    are_pairs: bool
    workers: int
    tensors: int
    fuse_key: str
    element_bytes: int
    is_async: bool


def collective_in(one: HloInstruction, module: HloModule) -> HloInstruction | None:
    """Return what an instruction sends: itself, or what it begins; None of what computes.

    ``async-start`` names a computation with the collective in it. The same is written as
    ``reduce-scatter-start`` with the attributes of the collective or with that computation.
    """
    base = one.opcode.removesuffix(START)
    if base not in SENDING and base != "async":
        return None
    has_groups = "replica_groups=" in one.plain or "source_target_pairs=" in one.plain
    if base in SENDING and (has_groups or one.attribute("calls") is None):
        return one
    inside = module.computations[one.attribute("calls") or one.calls()[0]]
    return next((each for each in inside.instructions.values() if each.opcode in SENDING), None)


def sent_by(one: HloInstruction, shape: Shape, module: HloModule, *, is_async: bool) -> SentTensors:
    """Say what a collective sends, given the shape of what comes out of it.

    Raises
    ------
    GroupFault
        When its groups are not known.
    """
    base = one.opcode.removesuffix(START)
    groups = groups_of(one, module.devices)
    are_pairs = base == _PERMUTE
    kind = SENDING[base]
    workers = 2 if are_pairs else max(map(len, groups))
    arrays = [leaf for leaf in leaves(shape) if leaf.bytes]
    size = bytes_of(shape) * (workers if kind == REDUCE_SCATTER else 1)
    types = dict.fromkeys(leaf.type for leaf in arrays)
    adds = one.attribute("to_apply")
    done = module.computations[adds] if adds else None
    what = [done.instructions[done.root].opcode] if done else []
    return SentTensors(
        kind,
        size,
        groups,
        are_pairs,
        workers,
        len(arrays),
        " ".join([*types, *what]),
        max((element_bytes(name) or 1 for name in types), default=1),
        is_async,
    )
