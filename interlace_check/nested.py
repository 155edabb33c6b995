"""Whether launches on one channel can be done in less than some time, from the middle outwards.

With the least release and tail of all later blocks, those before the launch of the last block, the
core, go in ascending order, those behind it in descending order; a block rides in the core, or with
the last top of a side, or is a new top there (MODEL.md, section 5). All numbers are whole.
"""

from collections.abc import Callable
from itertools import accumulate

#: Cells of a side; labels kept at most, at first and where those are too few.
_CELLS, _MOST = 128, (64, 256)

#: The least that it comes to, launches, both, e, f, the last tops' release and tail, if some bucket
#: is in two parts, and what e and f come to by the tops since the last such bucket.
Label = tuple[int, int, int, int, int, int, int, int, int, int]


def is_beaten(
    release: list[int], tail: list[int], work: list[int], are_wide: list[bool], a: int, goal: int
) -> bool:
    """Tell whether some way to place the blocks may take less than the goal; a launch takes a more.

    A label has how late the core starts for what is to come (e), its mirror image (f), the least of
    their sum, the last tops' release and tail, and how many launches, if some in two parts.
    """
    r, q = (list(accumulate(reversed(each), min))[::-1] for each in (release, tail))
    total = [0, *accumulate(work)]
    before, after = _side(r, total, a), _side(q, total, a)
    return all(_is_left(r, q, total, are_wide, a, goal, before, after, most) for most in _MOST)


def _is_left(
    r: list[int],
    q: list[int],
    total: list[int],
    are_wide: list[bool],
    a: int,
    goal: int,
    before: Callable[[int, int, int], int],
    after: Callable[[int, int, int], int],
    most: int,
) -> bool:
    """Tell whether a label is left that comes to less than the goal, or there are too many."""
    kept: list[Label] = [(0, 1, r[-1] + q[-1], r[-1], q[-1], r[-1], q[-1], 0, r[-1], q[-1])]
    span, near = r[-1] + q[-1] + total[-1] + len(r) * a, 0
    for k in range(len(r) - 2, -1, -1):
        w, made = total[k + 1] - total[k], set()
        o = w if are_wide[k] else 0
        for _, m, both, e, f, x, y, torn, u, v in kept:
            t = both - a - w
            ways = [(m, both, e, f, x, y, torn, u, v)]
            ways += [(m + 1, t, e - a - w, f - o, r[k], y, torn, u - a - w, v - o)]
            ways += [(m + 1, t, e - o, f - a - w, x, q[k], torn, u - o, v - a - w)]
            ways += [(m + 2, t - a, e - a - w, f - a - w, r[k], q[k], 1, r[k], q[k])]
            if o:
                ways += [(m, both - w, e - w, f - w, x, y, torn, u, v)]
            elif torn:
                ways += [(m, both - w, max(e - w, u), max(f - w, v), x, y, torn, u, v)]
            ways += [(m, both - w, e - w, f, x, y, torn, u - w, v)]
            ways += [(m, both - w, e, f - w, x, y, torn, u, v - w)]
            for m1, both1, e1, f1, x1, y1, torn1, u1, v1 in ways:
                e2, f2, u2, v2 = max(e1, x1), max(f1, y1), max(u1, x1), max(v1, y1)
                both2 = max(both1, e2 + f2)
                rest = max(before(k, e2, x1) + after(k, f2, y1), both2 - total[k])
                if total[-1] + a * m1 + rest < goal:
                    least = total[-1] + a * m1 + rest
                    made.add((least, m1, both2, e2, f2, x1, y1, torn1, u2, v2))
        near //= 4
        while (few := _together(sorted(made), a, near, most)) is None:
            near += near + span // 1_000_000 + 1
            if near > 2 * span:
                return True
        kept = few
    return any(total[-1] + a * m + both < goal for _, m, both, *_ in kept)


def _together(made: list[Label], a: int, near: int, most: int) -> list[Label] | None:
    """Let labels stand for others that are near, with the least of all figures; None: too many.

    One with fewer launches stands for another one with as much more e, f and both as they cost.
    """
    kept: list[Label] = []
    first: list[Label] = []  # as they were, so that none drifts
    for label in made:
        _, m, both, e, f, x, y, torn, h, g = label
        best, least = -1, near + 1
        for i, (_, m1, both1, e1, f1, x1, y1, torn1, h1, g1) in enumerate(first):
            if m1 > m or torn1 < torn:
                continue
            s = a * (m - m1)
            if max(e1 - e - s, f1 - f - s, both1 - both - s, x1 - x, y1 - y) > near:
                continue
            if torn and max(h1 - h, g1 - g) > near:
                continue
            u = kept[i]
            falls = max(0, u[3] - e - s) + max(0, u[4] - f - s), u[2] - both - s
            fall = max(*falls, max(0, u[5] - x) + max(0, u[6] - y), 0)
            fall = max(fall, max(0, u[8] - h) + max(0, u[9] - g) if torn else 0)
            if best < 0 or fall < least:
                best, least = i, fall
            if not fall:
                break
        if best < 0:
            if len(kept) == most:
                return None
            kept.append(label)
            first.append(label)
            continue
        bound, m1, both1, e1, f1, x1, y1, torn1, h1, g1 = kept[best]
        s = a * (m - m1)
        both1, e1, f1 = min(both1, both + s), min(e1, e + s), min(f1, f + s)
        x1, y1 = min(x1, x), min(y1, y)
        e1 -= min(max(0, e1 + f1 - both1), e1 - x1)  # both is no less than e and f together
        f1 = min(f1, both1 - e1)
        h1, g1 = (min(h1, h), min(g1, g)) if torn else (h1, g1)
        kept[best] = (bound, m1, both1, e1, f1, x1, y1, torn1, min(h1, e1), min(g1, f1))
    return kept


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
