"""What no plan is faster than: lines of a certificate, each of which follows from the graph."""

from fractions import Fraction
from math import lcm

from interlace_check import Refuted
from interlace_check.graph import Json, Work, order_of
from interlace_check.nested import is_beaten
from interlace_check.tried import may_end

Heads = dict[str, Fraction]


def longest(work: Work, weight: Heads, lines: list[Json], side: str) -> Heads:
    """Least start of each op, or least time behind it: paths, and what a channel carried before."""
    before = work.before
    if side == "tail":
        before = {op: [] for op in work.before}
        for follows, others in work.before.items():
            for other in others:
                before[other].append(follows)
    bit = {op: 1 << i for i, op in enumerate(work.bytes)}
    past: dict[str, int] = {}
    start: Heads = {}
    for op in order_of(before):
        past[op], start[op] = 0, Fraction(0)
        for other in before[op]:
            past[op] |= past[other] | bit.get(other, 0)
            start[op] = max(start[op], start[other] + weight[other])
        for number, line in enumerate(lines, 1):
            if line.get("side") == side and line["op"] == op:
                these = line["of"]
                if not all(past[op] & bit[each] for each in these):
                    raise Refuted(f"line {number} of the certificate: not all are there by {op!r}")
                start[op] = max(start[op], min(start[o] for o in these) + work.least(these))
    return start


def proven(work: Work, lines: list[Json], time: Fraction) -> Fraction:
    """Check each line of a certificate, and return the largest bound [us], below a known time."""
    weight = work.compute | {op: work.least([op]) for op in work.bytes}
    heads, tails = (longest(work, weight, lines, side) for side in ("head", "tail"))
    best = Fraction(0)
    for number, line in enumerate(lines, 1):
        try:
            value = Fraction(line["us"]) if "bound" in line else best
            if value > time:
                raise Refuted(f"the plan itself takes {float(time)} us")  # noqa: TRY301
            if "bound" in line and not _follows(work, weight, heads, tails, line, value):
                raise Refuted(f"{line['bound']} does not give {float(value)} us")  # noqa: TRY301
        except (Refuted, LookupError, ValueError) as error:
            raise Refuted(f"line {number} of the certificate: {error}") from error
        best = max(best, value)
    return best


def _follows(
    work: Work, weight: Heads, heads: Heads, tails: Heads, line: Json, value: Fraction
) -> bool:
    """Tell whether a bound follows."""
    kind, these = line["bound"], line.get("of", [])
    if kind == "path":
        return value <= max(heads[op] + tails[op] + weight[op] for op in work.before)
    if kind == "packing":
        ends = min(heads[op] for op in these) + min(tails[op] for op in these)
        return value <= ends + work.least(these)
    if kind == "tried":
        return not may_end(work, these, value)
    is_nested = kind == "nested"
    blocks = these if is_nested else [[op] for op in sorted(these, key=heads.__getitem__)]
    flat = [op for block in blocks for op in block]
    a, c = map(Fraction, line["line"])
    if len({work.lanes[op] for op in flat}) != 1 or len(set(flat)) != len(flat):
        raise Refuted("its tensors are of several lanes, or one is there twice")
    work.costs[flat[0]].check_line(a, c, work.totals[work.lanes[flat[0]]])
    release = [min(heads[op] for op in block) for block in blocks]
    tail = [min(tails[op] for op in block) for block in blocks]
    times = [c * sum(work.bytes[op] for op in block) for block in blocks]
    unit = lcm(*(t.denominator for t in [a, value, *release, *tail, *times]))
    r, q, w = ([int(t * unit) for t in some] for some in (release, tail, times))
    startup, goal = int(a * unit), int(value * unit)
    if is_nested:
        are_wide = [len(block) > 1 for block in blocks]
        return not are_wide[-1] and not is_beaten(r, q, w, are_wide, startup, goal)
    done, total = [(0, 0)], 0  # launches of neighbours in the order of releases: end, work by then
    for k, each in enumerate(w):
        total += each
        done.append((min(max(end, r[k]) + startup + total - by for end, by in done), total))
    return bool(kind == "chain" and goal <= done[-1][0] + min(q))
