"""Fewer launches of a program within a time and a memory: buckets are merged while both hold."""

from collections.abc import Iterator

from solver.fusion.search import Budget
from solver.programs.program import Program
from solver.programs.search.changes import UndoableDraft
from solver.programs.search.flat import Flat

#: With how many buckets of its lane, launched next, each is tried as one.
_REACH = 3

#: Shares of the time to spare that passes may use, one after the other: what costs nothing first.
_SHARES = (0.0, 1 / 16, 1 / 4, 1.0)

#: Items executed in all: some seconds where it is compiled.
_ITEMS = 30_000_000


def with_few_launches(
    flat: Flat, program: Program, limit: float, memory: int, share: float = 1.0
) -> Program:
    """Return a program with merged buckets that keeps a time [us] and a memory [bytes].

    Two buckets go in the place of the first launch, or else of the second. Passes over the
    launches until one merges nothing, or so much was executed as is meant to be: no clock is
    looked at, and of the programs that are meant to be executed a ``share``
    is. The program is returned as it was where its own draft keeps one of both no more.
    """
    draft = UndoableDraft(flat)
    draft.follow(program, is_eager=True)
    time = draft.execute(limit)
    if time > limit or draft.peak > memory:
        return program
    budget = Budget(int(share * _ITEMS) // max(1, flat.ops + flat.collectives))
    for spent in _SHARES:
        most = time + spent * (limit - time)
        while sum(_merge_on(draft, a, most, memory, budget) for a in _buckets(draft)):
            pass
    return draft.program()


def _merge_on(draft: UndoableDraft, a: int, limit: float, memory: int, budget: Budget) -> bool:
    """Merge a bucket with those behind it while that is possible; tell whether it was."""
    merged = False
    while draft.count[a] and any(
        budget.spend() and _merge(draft, a, b, limit, memory) for b in list(_following(draft, a))
    ):
        merged = True
    return merged


def _merge(draft: UndoableDraft, a: int, b: int, limit: float, memory: int) -> bool:
    """Merge a bucket with a later one where time and memory hold; tell whether they did."""
    ops = draft.flat.ops
    for place in (draft.place[ops + a], draft.place[ops + b]):
        draft.begin()
        draft.push(ops + a, place - 1)
        if draft.merge(a, b) and draft.execute(limit) <= limit and draft.peak <= memory:
            return True
        draft.take_back()
    return False


def _buckets(draft: UndoableDraft) -> list[int]:
    """List the buckets in the order of their launches."""
    flat = draft.flat
    items = (draft.order[k] - flat.ops for k in range(draft.length))
    return [b for b in items if 0 <= b < flat.collectives]


def _following(draft: UndoableDraft, a: int) -> Iterator[int]:
    """Yield the next buckets of a bucket's lane."""
    flat = draft.flat
    found = 0
    for k in range(draft.place[flat.ops + a] + 1, draft.length):
        b = draft.order[k] - flat.ops
        if 0 <= b < flat.collectives and flat.lane[draft.first[b]] == flat.lane[draft.first[a]]:
            yield b
            found += 1
            if found == _REACH:
                return
