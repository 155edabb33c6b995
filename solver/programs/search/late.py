"""Launches put off: memory is held later, at no cost of time."""

from math import inf

from solver.programs.search.changes import UndoableDraft


def put_off(draft: UndoableDraft, margin: float) -> None:
    """Ask for each launch as late as it still ends so long before it is needed [us].

    From the last launch to the first; what would take longer, or more memory, stays as it was.
    O(launches * items).
    """
    flat = draft.flat
    draft.execute(inf)
    waits = flat.ops + flat.collectives
    launches = [item for item in draft.order[: draft.length] if flat.ops <= item < waits]
    following: dict[int, float] = {}
    for item in reversed(launches):
        time, peak = draft.value, draft.peak
        channel = flat.channel[draft.first[item - flat.ops]]
        most = min(_need(draft, item) - margin, following.get(channel, inf))
        begin = most - draft.cost[item - flat.ops]
        if begin > draft.start[item]:
            to = _last_before(draft, item, begin)
            draft.begin()
            draft.push(item, to)
            is_better = draft.execute(time) <= time and draft.peak <= peak
            if not is_better:
                draft.take_back()
                draft.execute(inf)
        following[channel] = draft.start[item]


def _need(draft: UndoableDraft, item: int) -> float:
    """Return when the first that needs a launch starts [us]; the end where nothing does."""
    flat = draft.flat
    first = draft.value
    for c in draft.members(item - flat.ops):
        i = flat.position[c]
        for j in flat.succs[flat.succs_at[i] : flat.succs_at[i + 1]]:
            d = flat.number[j]
            first = min(first, draft.start[j if d < 0 else flat.ops + draft.home[d]])
    return first


def _last_before(draft: UndoableDraft, item: int, begin: float) -> int:
    """Return the last place behind a launch that compute comes to before a time."""
    place = draft.place[item]
    for k in range(place + 1, draft.length):
        other = draft.order[k]
        if draft.start[other] > begin:
            break
        if other < draft.flat.ops and draft.end[other] > begin:
            break
        place = k
    return place
