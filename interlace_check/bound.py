"""What no plan is faster than: lines of a certificate, each of which follows from the graph."""

from collections.abc import Iterable
from fractions import Fraction
from math import lcm

from interlace_check import Refuted
from interlace_check.graph import Json, Work, order_of
from interlace_check.nested import is_beaten

Heads = dict[str, Fraction]


def longest(work: Work, facts: list[Json], *, is_reversed: bool) -> Heads:
    """Least start of each op, or least time behind it: paths, and what a channel carried before."""
    before, weight = work.before, dict(work.compute)
    weight |= {op: work.least([op]) for op in work.sent}
    if is_reversed:
        before = {op: [] for op in work.before}
        for op, others in work.before.items():
            for other in others:
                before[other].append(op)
    bit = {op: 1 << i for i, op in enumerate(work.sent)}
    past: dict[str, int] = {}
    start: Heads = {}
    for op in order_of(before):
        past[op], start[op] = 0, Fraction(0)
        for other in before[op]:
            past[op] |= past[other] | bit.get(other, 0)
            start[op] = max(start[op], start[other] + weight.get(other, 0))
        for fact in (fact for fact in facts if fact["op"] == op):
            if not all(past[op] & bit[each] for each in fact["of"]):
                raise Refuted(f"not all of these are on their way to {op!r}: {fact}")
            start[op] = max(start[op], min(start[o] for o in fact["of"]) + work.least(fact["of"]))
    return start


def proven(work: Work, lines: Iterable[Json], time: Fraction) -> Fraction:
    """Check each line of a certificate, and return the largest bound [us], below a known time."""
    facts, bounds = [], []
    for number, line in enumerate(lines, 1):
        (bounds if "bound" in line else facts).append((number, line))
    heads, tails = (
        longest(work, [line for _, line in facts if line["side"] == side], is_reversed=back)
        for side, back in (("head", False), ("tail", True))
    )
    best = Fraction(0)
    for number, line in bounds:
        try:
            value = Fraction(line["us"])
            if value > time:
                raise Refuted(f"the plan itself takes {float(time)} us")
            _check(work, heads, tails, line, value)
        except (Refuted, KeyError, ValueError) as error:
            raise Refuted(f"line {number} of the certificate: {error}") from error
        best = max(best, value)
    return best


def _check(work: Work, heads: Heads, tails: Heads, line: Json, value: Fraction) -> None:
    """Refute a bound that does not follow."""
    kind, these = line["bound"], line.get("of", [])
    if kind == "path":
        weight = work.compute | {op: work.least([op]) for op in work.sent}
        found = max(heads[o] + tails[o] + weight[o] for o in work.before)
    elif kind == "packing":
        found = min(heads[o] for o in these) + work.least(these) + min(tails[o] for o in these)
    else:
        flat = [op for block in these for op in block] if kind == "nested" else these
        a, c = map(Fraction, line["line"])
        if len({work.lanes[op] for op in flat}) != 1 or len(set(flat)) != len(flat):
            raise Refuted("its tensors are of several lanes, or one is there twice")
        work.costs[flat[0]].check_line(a, c, work.totals[work.lanes[flat[0]]])
        blocks = these if kind == "nested" else [[o] for o in sorted(flat, key=heads.__getitem__)]
        release = [min(heads[o] for o in block) for block in blocks]
        tail = [min(tails[o] for o in block) for block in blocks]
        times = [c * sum(work.sent[o]["bytes"] for o in block) for block in blocks]
        unit = lcm(*(t.denominator for t in [a, value, *release, *tail, *times]))
        r, q, w = ([int(t * unit) for t in some] for some in (release, tail, times))
        if kind == "nested":
            are_wide = [len(block) > 1 for block in blocks]
            if not is_beaten(r, q, w, are_wide, int(a * unit), int(value * unit)):
                return
            raise Refuted("a plan of this form may be faster")
        found = Fraction(_in_order(r, w, int(a * unit)) + min(q), unit)
    if found < value:
        raise Refuted(f"{kind} gives {float(found)} us, not {float(value)}")


def _in_order(release: list[int], work: list[int], startup: int) -> int:
    """Least end of launches of neighbours that carry all in the order of releases."""
    ends, total = [0], [0]
    for r, w in zip(release, work, strict=True):
        total.append(total[-1] + w)
        ends.append(
            min(max(e, r) + startup + total[-1] - t for e, t in zip(ends, total, strict=False))
        )
    return ends[-1]
