"""Waits put off where memory allows: launches that take longer than planned hold less up."""

from math import inf

from solver.programs.program import Program
from solver.programs.search.changes import UndoableDraft
from solver.programs.search.flat import Flat

#: By how many places a wait is put off at least, where not to the first that needs it.
_STEPS = (512, 128, 32, 8)


def wait_late(flat: Flat, program: Program) -> Program:
    """Wait for each launch as late as the limit of memory allows.

    From the last launch to the first: not before it is needed, or else by some places. A later wait
    makes nothing later (section 17.3 of the model), so memory alone decides. O(launches * items).
    """
    draft = UndoableDraft(flat)
    draft.makes_room = False  # the waits are those of the program
    draft.follow(program, is_eager=True)
    draft.execute(inf)
    if draft.excess:
        return program
    first = flat.ops + flat.collectives
    launches = [item for item in draft.order[: draft.length] if flat.ops <= item < first]
    for launch in reversed(launches):
        b = launch - flat.ops
        behind = draft.place[first + b] - draft.place[launch] - 1
        for steps in (None, *_STEPS):
            draft.begin()
            if not draft.let_go(b):
                break
            if steps is not None:
                draft.hold(b, behind + steps)
            draft.execute(inf)
            if not draft.excess:
                break
            draft.take_back()
    return draft.program()
