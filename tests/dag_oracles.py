"""General graphs by definition: every bucket, order and cut, and CP-SAT in a process of its own.

Shares no code with the solver but the types of its input.
"""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from solver.costs import ChannelCost
from solver.graph import COMPUTE, Graph
from tests.dag_graphs import Case

#: Positions of the collectives of one bucket, and the bytes of one part of it.
Launch = tuple[tuple[int, ...], int]
After = list[list[int]]


class Exact(NamedTuple):
    """What CP-SAT found: a value, whether it is proven, and the launches that attain it.

    ``value`` is None when nothing at most as long as asked for exists, or was found in time.
    """

    value: float | None
    closed: bool
    seconds: float
    launches: list[Launch]


def after_of(graph: Graph) -> After:
    """List the positions that each op comes after, by name and by stream."""
    at = {op.id: i for i, op in enumerate(graph.ops)}
    found = [[at[other] for other in op.after] for op in graph.ops]
    last: dict[str, int] = {}
    for i, op in enumerate(graph.ops):
        if op.stream is not None:
            if op.stream in last:
                found[i].append(last[op.stream])
            last[op.stream] = i
    return found


def time_of(case: Case, launches: Sequence[Launch], after: After | None = None) -> float | None:
    """End of the last op when each channel launches in this order; None when it deadlocks."""
    ops = case.graph.ops
    after = after_of(case.graph) if after is None else after
    channel = [ops[bucket[0]].channel for bucket, _ in launches]
    final = {i: k for k, (bucket, _) in enumerate(launches) for i in bucket}
    previous = [
        next((j for j in range(k - 1, -1, -1) if channel[j] == channel[k]), None)
        for k in range(len(launches))
    ]
    ends: dict[tuple[str, int], float] = {}
    open_: set[tuple[str, int]] = set()

    def end(what: str, k: int) -> float:
        if (what, k) not in ends:
            if (what, k) in open_:
                raise RecursionError
            open_.add((what, k))
            if what == "launch":
                bucket, size = launches[k]
                free = 0.0 if previous[k] is None else end("launch", previous[k] or 0)
                released = max((end("op", j) for i in bucket for j in after[i]), default=0.0)
                op = ops[bucket[0]]
                cost = case.costs[ChannelCost(op.channel, op.kind)]
                ends[what, k] = max(free, released) + cost.startup + cost.per_byte * size
            elif ops[k].kind == COMPUTE:
                start = max((end("op", j) for j in after[k]), default=0.0)
                ends[what, k] = start + (ops[k].duration_us or 0.0)
            else:
                ends[what, k] = end("launch", final[k])
        return ends[what, k]

    try:
        return max(end("op", k) for k in range(len(ops)))
    except RecursionError:
        return None


def partitions(items: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """Yield every partition of the items."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for smaller in partitions(rest):
        yield [(first,), *smaller]
        for k, block in enumerate(smaller):
            yield [*smaller[:k], (first, *block), *smaller[k + 1 :]]


def brute_force(case: Case, *, cut: bool) -> float:
    """Least time over all buckets of one lane, orders, and, with ``cut``, one cut of each."""
    ops = case.graph.ops
    lane = [(op.channel, op.kind) for op in ops]
    after = after_of(case.graph)
    channels = sorted({ops[i].channel for i in case.graph.collectives})
    best = float("inf")
    for blocks in partitions(case.graph.collectives):
        if any(len({lane[i] for i in block}) > 1 for block in blocks):
            continue
        choices = []
        for block in blocks:
            size = sum(ops[i].bytes or 0 for i in block)
            whole: list[list[Launch]] = [[(block, size)]]
            halves = [[(block, some), (block, size - some)] for some in range(1, size)]
            choices.append(whole + halves if cut else whole)
        for chosen in itertools.product(*choices):
            parts = [launch for launches in chosen for launch in launches]
            orders = [
                list(_orders([p for p in parts if ops[p[0][0]].channel == channel], chosen))
                for channel in channels
            ]
            for order in itertools.product(*orders):
                value = time_of(case, [launch for sent in order for launch in sent], after)
                best = min(best, best if value is None else value)
    return best


def _orders(parts: list[Launch], chosen: Iterable[list[Launch]]) -> Iterator[list[Launch]]:
    """Yield the orders of parts in which a bucket's second part follows its first."""
    number = {id(launch): k for launches in chosen for k, launch in enumerate(launches)}
    for order in itertools.permutations(parts):
        begun: set[tuple[int, ...]] = set()
        for launch in order:
            if number[id(launch)] and launch[0] not in begun:
                break
            begun.add(launch[0])
        else:
            yield list(order)


def problem_of(case: Case, most: float | None = None) -> dict[str, object]:
    """Write a case for CP-SAT; ``most`` is a time that is known to be reached."""
    graph, after = case.graph, after_of(case.graph)
    lanes = list(case.costs)
    channels = list(dict.fromkeys(lane.channel for lane in lanes))
    return {
        "duration": [int(op.duration_us or 0) for op in graph.ops],
        "bytes": [op.bytes or 0 for op in graph.ops],
        "lane": [
            None if op.kind == COMPUTE else lanes.index(ChannelCost(op.channel, op.kind))
            for op in graph.ops
        ],
        "after": after,
        "order": list(graph.order),
        "channel": [channels.index(lane.channel) for lane in lanes],
        "startup": [int(cost.startup) for cost in case.costs.values()],
        "per_byte": [int(cost.per_byte) for cost in case.costs.values()],
        "most": None if most is None else round(most),
    }


def exact(
    problems: Sequence[dict[str, object]], parts: int, limit_s: float, workers: int = 1
) -> list[Exact]:
    """Solve problems by CP-SAT; a bucket is sent in at most ``parts`` parts."""
    request = {"graphs": problems, "parts": parts, "limit_s": limit_s, "workers": workers}
    done = subprocess.run(
        [sys.executable, "-m", "tests.cp_sat"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        Exact(value, closed, seconds, [(tuple(bucket), size) for bucket, size in launches])
        for value, closed, seconds, launches in json.loads(done.stdout)
    ]
