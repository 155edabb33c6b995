"""Whether launches on one channel can be done in less than some time, from the middle outwards.

With the least release and tail of all later blocks, those before the launch of the last block, the
core, go in ascending order, those behind it in descending order; a block rides in the core, or with
the last top of a side, or is a new top there (MODEL.md, section 5). All numbers are whole.
"""

from collections.abc import Callable
from itertools import accumulate

_CELLS, _MOST = 128, 2000


def is_beaten(
    release: list[int], tail: list[int], work: list[int], are_wide: list[bool], a: int, goal: int
) -> bool:
    """Tell whether some way to place the blocks may take less than the goal; a launch takes a more.

    A label has how late the core starts for what is to come (e), its mirror image (f), what may be
    added to either, the last tops' release and tail, and how many launches, if some in two parts.
    """
    r, q = (list(accumulate(reversed(each), min))[::-1] for each in (release, tail))
    total = [0, *accumulate(work)]
    before, after = _side(r, total, a), _side(q, total, a)
    kept = [(0, r[-1], q[-1], 0, r[-1], q[-1], 1, 0)]
    for k in range(len(work) - 2, -1, -1):
        w, o, made = work[k], work[k] if are_wide[k] else 0, set()
        for _, e, f, s, x, y, m, torn in kept:
            ways = [(e, f, s, x, y, m, torn), (e - a - w, f - a - w, s + w, r[k], q[k], m + 2, 1)]
            ways += [(e - a - w, f - o, s + o, r[k], y, m + 1, torn)]
            ways += [(e - o, f - a - w, s + o, x, q[k], m + 1, torn)]
            ways += [(e - w, f - w, s + w, x, y, m, torn)] if torn or o else []
            ways += [(e - w, f, s, x, y, m, torn), (e, f - w, s, x, y, m, torn)]
            for e1, f1, s1, x1, y1, m1, torn1 in ways:
                e2, f2 = max(e1, x1), max(f1, y1)
                s2 = max(0, max(0, s1 - (e2 - e1)) - (f2 - f1))
                rest = max(before(k, e2, x1) + after(k, f2, y1), e2 + f2 + s2 - total[k])
                if total[-1] + a * m1 + rest < goal:
                    made.add((total[-1] + a * m1 + rest, e2, f2, s2, x1, y1, m1, torn1))
        kept = []
        for label in sorted(made):
            _, e, f, s, x, y, m, torn = label
            if not any(
                max(0, u[1] - e, u[2] - f, u[1] + u[2] + u[3] - e - f - s) <= a * (m - u[6])
                for u in kept
                if u[4] <= x and u[5] <= y and u[7] >= torn
            ):
                kept.append(label)
            if len(kept) > _MOST:
                return True
    return any(total[-1] + a * u[6] + u[1] + u[2] + u[3] < goal for u in kept)


def _side(head: list[int], total: list[int], a: int) -> Callable[[int, int, int], int]:
    """Return the least that a side comes to, launches paid, if it had all bytes to itself.

    By the blocks left, the level, and the floor that the last top sets; levels are rounded down.
    """
    step = max(1, -((head[0] - head[-1]) // (_CELLS - 1)))
    own: list[list[int]] = []
    best: list[list[int]] = []

    def least(count: int, level: int, floor: int) -> int:
        low = max(floor, level - total[count])
        for j in range(count - 1, -1, -1) if low == floor else ():
            if low <= a + head[0]:
                break
            rest = max(floor, level - total[count] + total[j + 1])
            cell = min(_CELLS - 1, (rest - a - head[0]) // step)
            if rest == floor:
                return min(low, best[j][cell])
            low = min(low, a + own[j][cell])
        return low

    for j, floor in enumerate(head):
        first = head[0] - total[j + 1] + total[j]
        own.append([least(j, first + cell * step, floor) for cell in range(_CELLS)])
        best.append([min([a + v, *(b[k] for b in best[-1:])]) for k, v in enumerate(own[j])])
    return least
