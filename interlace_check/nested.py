"""Whether launches on one channel can be done in less than some time, from the middle outwards.

Give the blocks the least release and tail of all later ones. Then in a best plan the launches
before that of the last block, the core, go in ascending order, those behind it in descending order,
and a tensor rides in the core, or with the last top of a side, or is a new top there (MODEL.md,
section 5). All numbers are whole, in one unit.
"""

from collections.abc import Callable
from itertools import accumulate

_CELLS, _MOST = 128, 2000


def is_beaten(
    release: list[int], tail: list[int], work: list[int], are_wide: list[bool], a: int, goal: int
) -> bool:
    """Tell whether some way to place the blocks may take less than the goal.

    ``a`` is what each launch takes beside the work of its bytes; the bytes of a wide block go
    anywhere. A label says how late the core starts for what is to come (e), the mirror image (f),
    what may be added to either, the last tops' release and tail, and how many launches there are.
    """
    r, q = (list(accumulate(reversed(each), min))[::-1] for each in (release, tail))
    total = [0, *accumulate(work)]
    before, after = _side(r, total, a), _side(q, total, a)
    if are_wide[-1]:
        return True
    kept = [(0, r[-1], q[-1], 0, r[-1], q[-1], 1, 0)]
    for k in range(len(work) - 2, -1, -1):
        w, made = work[k], set()
        o = w if are_wide[k] else 0
        for _, e, f, s, x, y, m, torn in kept:
            ways = [(e, f, s, x, y, m, torn), (e - w, f - w, s + w, x, y, m, torn)]
            if not o:
                ways[1:] = ways[1:] if torn else []
                ways += [(e - w, f, s, x, y, m, torn), (e, f - w, s, x, y, m, torn)]
            ways += [(e - a - w, f - o, s + o, r[k], y, m + 1, torn)]
            ways += [(e - o, f - a - w, s + o, x, q[k], m + 1, torn)]
            for e1, f1, s1, x1, y1, m1, torn1 in [
                *ways,
                (e - a - w, f - a - w, s + w, r[k], q[k], m + 2, 1),
            ]:
                e2, f2 = max(e1, x1), max(f1, y1)
                s2 = max(0, max(0, s1 - (e2 - e1)) - (f2 - f1))
                rest = max(before(k, e2, x1) + after(k, f2, y1), e2 + f2 + s2 - total[k])
                if total[-1] + a * m1 + rest < goal:
                    made.add((total[-1] + a * m1 + rest, e2, f2, s2, x1, y1, m1, torn1))
        kept = []
        for label in sorted(made):
            if not any(_is_as_good(other, label, a) for other in kept):
                kept.append(label)
            if len(kept) > _MOST:
                return True
    return bool(kept) and (len(work) > 1 or total[-1] + a + r[-1] + q[-1] < goal)


def _is_as_good(one: tuple[int, ...], two: tuple[int, ...], a: int) -> bool:
    """Tell whether whatever follows the second label may follow the first and take no longer."""
    _, e, f, s, x, y, m, torn = one
    _, e2, f2, s2, x2, y2, m2, torn2 = two
    spare = a * (m2 - m)
    ends = max(0, e - e2, f - f2, e + f + s - e2 - f2 - s2)
    return x <= x2 and y <= y2 and torn >= torn2 and ends <= spare


def _side(head: list[int], total: list[int], a: int) -> Callable[[int, int, int], int]:
    """Return the least that a side comes to, launches paid, if it had all bytes to itself.

    By the blocks left, the level, and the floor that the last top sets; levels are rounded down.
    """
    step = max(1, -((head[0] - head[-1]) // (_CELLS - 1)))
    own: list[list[int]] = []
    best: list[list[int]] = []

    def least(count: int, level: int, floor: int) -> int:
        low = level - total[count]
        if low >= floor:
            return low
        low = floor
        for j in range(count - 1, -1, -1):
            if low <= a + head[0]:
                break
            rest = max(floor, level - total[count] + total[j + 1])
            cell = min(_CELLS - 1, (rest - a - head[0]) // step)
            if rest <= floor:
                return min(low, best[j][cell])
            low = min(low, a + own[j][cell])
        return low

    for j, floor in enumerate(head):
        work = total[j + 1] - total[j]
        levels = range(head[0] - work, head[0] - work + _CELLS * step, step)
        own.append([least(j, level, floor) for level in levels])
        best.append([min([a + v, *(b[k] for b in best[-1:])]) for k, v in enumerate(own[j])])
    return least
