"""The memory of programs in CP-SAT: buffers and copies of buckets, half open.

What a launch reads is let go when it has ended, or when its wait has: ``held_to_wait``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.programs.cp_sat import Sequences

COMPUTE, PACK, WAIT, UNPACK = 0, 1, 2, 3


def hold(found: Sequences) -> None:
    """Hold what is live at one time within the limit."""
    spans = [*_buffers(found), *_copies(found)]
    held, sizes = [], []
    for begin, end, size in spans:
        length = found.number()
        found.model.add(length == end - begin)
        held.append(found.model.new_interval_var(begin, length, end, ""))
        sizes.append(size)
    found.model.add_cumulative(held, sizes, found.problem["memory"])


def _buffers(found: Sequences) -> list[tuple[Any, Any, Any]]:
    """List from when to when each buffer is live, and its bytes."""
    writes: dict[int, Any] = {}
    reads: dict[int, Any] = {}
    for i, lane in enumerate(found.lane):
        if lane is None:
            writes[i] = reads[i] = found.starts[COMPUTE, i], found.ends[COMPUTE, i]
        else:
            begin, read, written = _times(found, i)
            writes[i], reads[i] = (begin, written), (begin, read)
    spans = []
    for size, writer, readers, kept in found.problem["buffers"]:
        begin, last = found.model.new_constant(0), []
        if writer is not None:
            begin = writes[writer][0]
            last = [writes[writer][1]]
        end = found.value
        if not kept:
            end = found.number()
            found.model.add_max_equality(end, [begin, *last, *(reads[i][1] for i in readers)])
        spans.append((begin, end, size))
    return spans


def _times(found: Sequences, i: int) -> tuple[Any, Any, Any]:
    """Return a collective's launch, when its inputs are let go, and when it or its copy wrote."""
    begin, read, written = found.number(), found.number(), found.number()
    for j in found.leaders(i):
        chosen, several = found.inside[i, j], found.several[j]
        found.model.add(begin == found.launch[j][0]).only_enforce_if(chosen)
        found.model.add(read == _let_go(found, j)).only_enforce_if(chosen)
        one = [chosen, several.negated()]
        found.model.add(written == found.launch[j][1]).only_enforce_if(one)
        found.model.add(written == found.ends[UNPACK, j]).only_enforce_if([chosen, several])
    return begin, read, written


def _let_go(found: Sequences, j: int) -> Any:
    """Return when what a bucket's launch reads is let go."""
    return found.ends[WAIT, j] if found.problem["held_to_wait"] else found.launch[j][1]


def _copies(found: Sequences) -> list[tuple[Any, Any, Any]]:
    """List from when to when the copies of each bucket are live, and their bytes."""
    spans = []
    for j, (packed, unpacked) in found.shares.items():
        for begin, end, size in (
            (found.starts[PACK, j], _let_go(found, j), packed),
            (found.launch[j][0], found.ends[UNPACK, j], unpacked),
        ):
            from_, to = found.number(), found.number()
            for var, time in ((from_, begin), (to, end)):
                found.model.add(var == time).only_enforce_if(found.several[j])
                found.model.add(var == 0).only_enforce_if(found.several[j].negated())
            spans.append((from_, to, size))
    return spans
