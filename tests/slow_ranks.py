"""Made-up runs of ranks with one that is slow, or none, on clocks that are off; times in us.

Ranks compute and meet: a collective begins when the last of its group has come, and ends on all of
its ranks at once. What is planted is told apart from what the solver sees: each rank's own clock.
"""

import random
from typing import Any, NamedTuple, cast

KINDS = ("slower_compute", "late_input", "slow_link")


class Part(NamedTuple):
    """What a step does next: compute, then meet the groups of one channel."""

    op: str
    compute: float
    channel: str
    kind: str
    bytes: int
    time: float


class Case(NamedTuple):
    """What ranks recorded, and what was planted.

    rows: (rank, step, op, channel, group, number, kind, bytes, start, end) on the rank's clock.
    truth: kind, rank (None where nothing tells it), op (None where all are slow), group, lateness.
    step: mean time of a step, and what it is without what was planted.
    clocks: offset and drift of each rank.
    true: the rows on one clock.
    """

    rows: list
    truth: tuple | None
    step: tuple
    clocks: list
    true: list


def layouts(draw, size):
    """Groups by channel: all, a grid of rows and columns, rows with one of all, pairs of a ring."""
    everyone = {"network": [tuple(range(size))]}
    found = [everyone]
    if size % 2 == 0:
        even: list[tuple[int, ...]] = [(i, i + 1) for i in range(0, size, 2)]
        odd: list[tuple[int, ...]] = [(i, (i + 1) % size) for i in range(1, size, 2)]
        found.append({"even": even, "odd": odd})
    widths = [w for w in range(2, size // 2 + 1) if size % w == 0]
    if widths:
        width = draw.choice(widths)
        rows = [tuple(range(i, i + width)) for i in range(0, size, width)]
        columns = [tuple(range(i, size, width)) for i in range(width)]
        found += [{"tp": rows, "dp": columns}, {"tp": rows, **everyone}]
    return draw.choice(found)


def meet(parts, groups, steps, size, noise, draw, plant):
    """Run the steps; return rows on true clocks and the mean time of a step."""
    now = [0.0] * size
    rows, ends, number = [], [], 0
    for step in range(steps):
        for k, part in enumerate(parts):
            number += 1
            for r in range(size):
                work = part.compute * max(0.2, draw.gauss(1, noise))
                now[r] += plant.work(r, k, work)
            for g, group in enumerate(groups[part.channel]):
                came = {r: now[r] for r in group}
                took = part.time * max(0.2, draw.gauss(1, noise))
                over = max(came.values()) + plant.sent(part.channel, g, k, took)
                for r in group:
                    rows.append((r, step, part.op, part.channel, f"{part.channel} {g}", number,
                                 part.kind, part.bytes, came[r], over))  # fmt: skip
                    now[r] = over
        ends.append(max(now))
    return rows, (ends[-1] - ends[0]) / (steps - 1)


class Plant(NamedTuple):
    """What is wrong: with a rank's compute, with its input before an op, with groups' links."""

    kind: str | None = None
    rank: int = -1
    op: int = -1
    amount: float = 0.0
    groups: tuple = ()

    def work(self, rank, op, work):
        if self.kind == "slower_compute" and rank == self.rank:
            return work * (1 + self.amount)
        return work + (
            self.amount if self.kind == "late_input" and (rank, op) == (self.rank, self.op) else 0
        )

    def sent(self, channel, group, op, time):
        slow = self.kind == "slow_link" and (channel, group) in self.groups
        return time * (1 + self.amount) if slow and self.op in (-1, op) else time


def slow_link(draw, groups, parts, rank, op):
    """Plant a rank's link, or that of one of its groups; of one group of all, that of one op."""
    able = [(channel, g) for channel, every in groups.items() for g, ranks in enumerate(every)
            if rank in ranks and len(every) > 1]  # fmt: skip
    if not able:
        amount = draw.uniform(1, 3)
        late = parts[op].time * amount
        plant = Plant("slow_link", op=op, amount=amount, groups=(("network", 0),))
        return plant, ("slow_link", None, parts[op].op, {"network 0"}, late)
    slow = able[:1] if draw.random() < 0.4 else able
    amount = draw.uniform(0.5, 3)
    took = {part.op: part.time * amount for part in parts if part.channel in dict(slow)}
    named = rank if len(slow) > 1 else None
    where = {f"{channel} {g}" for channel, g in slow}
    plant = Plant("slow_link", amount=amount, groups=tuple(slow))
    return plant, ("slow_link", named, max(took, key=took.get), where, sum(took.values()))


def made(seed, kind=None, steps=None):
    """Draw a case of 4 to 16 ranks, of a kind or with nothing planted."""
    draw = random.Random(seed)
    size = draw.randint(4, 16)
    groups = layouts(draw, size)
    steps = steps or draw.randint(8, 20)
    channels = list(groups)
    parts, rates = [], {channel: draw.uniform(60, 90) for channel in channels}
    for k in range(draw.randint(5 if channels == ["network"] else 3, 8)):
        channel = channels[k % len(channels)]
        size_mb = draw.choice([1, 4, 16, 25, 64])
        parts.append(
            Part(
                f"{channel} {k}",
                draw.uniform(500, 5000),
                channel,
                "send" if channel in ("even", "odd") else "all_reduce",
                size_mb * 2**20,
                40.0 + size_mb * rates[channel],
            )
        )
    rank, op = draw.randrange(size), draw.randrange(len(parts))
    plant, truth = Plant(), cast("Any", None)
    if kind == "slower_compute":
        plant = Plant(kind, rank, amount=draw.uniform(0.1, 0.6))
        late = plant.amount * sum(part.compute for part in parts)
        truth = (kind, rank, None, None, late)
    elif kind == "late_input":
        total = sum(part.compute + part.time for part in parts)
        plant = Plant(kind, rank, op, draw.uniform(0.05, 0.3) * total)
        truth = (kind, rank, parts[op].op, None, plant.amount)
    elif kind == "slow_link":
        plant, truth = slow_link(draw, groups, parts, rank, op)
    noise = draw.uniform(0.002, 0.015)
    state = draw.getstate()
    rows, step = meet(parts, groups, steps, size, noise, draw, plant)
    draw.setstate(state)
    _, without = meet(parts, groups, steps, size, noise, draw, Plant())
    clocks = [(draw.uniform(-5e6, 5e6), draw.uniform(-5e-5, 5e-5)) for _ in range(size)]
    jitter = draw.uniform(0.1, 3)

    def local(rank, time):
        offset, drift = clocks[rank]
        return offset + time * (1 + drift) + draw.gauss(0, jitter)

    local_rows = [(*row[:8], local(row[0], row[8]), local(row[0], row[9])) for row in rows]
    return Case(local_rows, truth, (step, without), clocks, rows)
