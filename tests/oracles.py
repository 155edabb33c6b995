"""Slow answers by definition, sharing no code with the solver."""

import functools
import itertools
import json
import subprocess
import sys

import networkx as nx
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from solver.buckets import contiguous
from solver.chain import Chain
from solver.costs import Cost
from solver.graph import Graph
from solver.schedule import Jobs
from solver.schedule.execute import cut_at_releases


def releases_tails_and_length(graph: Graph) -> tuple[dict[str, float], dict[str, float], float]:
    """Longest paths by networkx on the graph's ops, collectives at 0."""
    digraph: nx.DiGraph = nx.DiGraph()
    digraph.add_nodes_from(["source", "sink"])
    for op in graph.ops:
        digraph.add_edge("source", (op.id, "in"), weight=0.0)
        digraph.add_edge((op.id, "in"), (op.id, "out"), weight=op.duration_us or 0.0)
        digraph.add_edge((op.id, "out"), "sink", weight=0.0)
        for other in op.after:
            digraph.add_edge((other, "out"), (op.id, "in"), weight=0.0)

    def longest(start, end):
        between = nx.descendants(digraph, start) & nx.ancestors(digraph, end) | {start, end}
        return nx.dag_longest_path_length(digraph.subgraph(between))

    tensors = [op.id for op in graph.ops if op.kind != "compute"]
    return (
        {t: longest("source", (t, "in")) for t in tensors},
        {t: longest((t, "out"), "sink") for t in tensors},
        longest("source", "sink"),
    )


def best_subset(jobs: Jobs) -> float:
    """Value of 1 | r_j, pmtn | max(C_j + q_j) as the maximum over all subsets."""
    best = 0.0
    indices = range(len(jobs))
    for size in range(1, len(jobs) + 1):
        for subset in itertools.combinations(indices, size):
            chosen = list(subset)
            value = (
                jobs.release[chosen].min() + jobs.duration[chosen].sum() + jobs.tail[chosen].min()
            )
            best = max(best, float(value))
    return best


def best_slot_schedule(jobs: Jobs) -> float:
    """Least max(C_j + q_j) by trying every assignment of jobs to slots."""
    release = tuple(jobs.release.astype(int).tolist())
    tail = tuple(jobs.tail.astype(int).tolist())

    @functools.cache
    def search(now: int, left: tuple[int, ...]) -> float:
        if not any(left):
            return 0.0
        ready = [j for j, n in enumerate(left) if n and release[j] <= now]
        if not ready:
            return search(now + 1, left)
        values = []
        for j in ready:
            after = (*left[:j], left[j] - 1, *left[j + 1 :])
            done = float(now + 1 + tail[j]) if not after[j] else 0.0
            values.append(max(done, search(now + 1, after)))
        return min(values)

    free = [r + q for r, p, q in zip(release, jobs.duration, tail, strict=True) if not p]
    return max([search(0, tuple(jobs.duration.astype(int).tolist())), *map(float, free)])


def fits_in_slots(jobs: Jobs, horizon: int) -> bool:
    """Feasibility of PACE's LP with one variable for each job and slot, by scipy's linprog."""
    pairs = [
        (j, t)
        for j in range(len(jobs))
        for t in range(int(jobs.release[j]), horizon - int(jobs.tail[j]))
    ]
    if np.any(jobs.release + jobs.duration + jobs.tail > horizon):
        return False
    if not jobs.duration.any():
        return True
    job, slot = np.array(pairs).T
    ones = np.ones(len(pairs))
    columns = np.arange(len(pairs))
    serve = sparse.csr_array((ones, (job, columns)), shape=(len(jobs), len(pairs)))
    room = sparse.csr_array((ones, (slot, columns)), shape=(horizon, len(pairs)))
    answer = linprog(  # type: ignore[call-overload]  # sparse matrices are fine
        np.zeros(len(pairs)),
        A_eq=serve,
        b_eq=jobs.duration,
        A_ub=room,
        b_ub=np.ones(horizon),
        bounds=(0, 1),
    )
    return bool(answer.status == 0)


def max_min_by_recursion(sizes: list[int], count: int) -> tuple[int, ...]:
    """Algorithm 1's function, as printed, with the shortest first run among equals."""

    @functools.cache
    def cut(start: int, runs: int) -> tuple[float, tuple[int, ...]]:
        if runs == 1:
            return sum(sizes[start:]), (len(sizes),)
        if runs > len(sizes) - start:
            return float("-inf"), ()
        best: tuple[float, tuple[int, ...]] = (0.0, ())
        for end in range(start + 1, len(sizes) + 1):
            rest, cuts = cut(end, runs - 1)
            value = min(sum(sizes[start:end]), rest)
            if value > best[0]:
                best = (value, (end, *cuts))
        return best

    return cut(0, count)[1]


def iteration_time(graph: Graph, done: dict[str, float]) -> float:
    """End of the last op when each collective ends at the time given."""
    ends: dict[str, float] = {}

    def end(name: str) -> float:
        if name not in ends:
            op = next(op for op in graph.ops if op.id == name)
            start = max((end(other) for other in op.after), default=0.0)
            ends[name] = done[name] if name in done else start + (op.duration_us or 0.0)
        return ends[name]

    return max(end(op.id) for op in graph.ops)


def policy_time(chain: Chain, cost: Cost, policy) -> float:
    """Drive a policy's rule by hand: releases in order, one launch at a time, no event queue."""
    (rule,) = policy(chain, [cost])
    arrivals = sorted(range(len(chain)), key=lambda i: (chain.release[i], i))
    left: dict[tuple[int, ...], int] = {}
    now, value, missing = 0.0, chain.compute_time, len(chain)
    while missing:
        while arrivals and chain.release[arrivals[0]] <= now:
            i = arrivals.pop(0)
            rule.release(i, float(chain.release[i]))
        answer = rule.launch(now)
        if answer is None or isinstance(answer, float):
            later = [] if answer is None else [answer]
            later += [float(chain.release[arrivals[0]])] if arrivals else []
            now = min(later)
            continue
        bucket, size = answer
        now += cost.time(size)
        left[bucket] = left.get(bucket, int(chain.bytes[list(bucket)].sum())) - size
        if not left[bucket]:
            missing -= len(bucket)
            value = max(value, now + float(chain.tail[list(bucket)].max()))
    return value


def best_plan(chain: Chain, cost: Cost, start: float) -> float:
    """Least time over all fusions and orders, one bucket cut at a quarter, half or more.

    Depth first over launches as bit masks of tensors; ``start`` is a time to beat.
    """
    release, tail = chain.release.tolist(), chain.tail.tolist()
    sizes = chain.bytes.tolist()
    count = len(sizes)
    sets = range(1 << count)
    members = [[i for i in range(count) if mask >> i & 1] for mask in sets]
    best = start

    def go(now, left, begun, value, cut):
        nonlocal best
        if value >= best:
            return
        if not left and not begun:
            best = value
            return
        for i, (mask, rest) in enumerate(begun):
            end = now + cost.time(rest)
            done = max([value, *(end + tail[k] for k in members[mask])])
            go(end, left, begun[:i] + begun[i + 1 :], done, cut)
        mask = left
        while mask:
            size = sum(sizes[k] for k in members[mask])
            begin = max([now, *(release[k] for k in members[mask])])
            end = begin + cost.time(size)
            done = max(value, end + max(tail[k] for k in members[mask]))
            go(end, left & ~mask, begun, done, cut)
            for share in (0.25, 0.5, 0.75) if cut else ():
                part = int(size * share)
                rest = [*begun, (mask, size - part)]
                go(begin + cost.time(part), left & ~mask, rest, value, False)
            mask = (mask - 1) & left

    go(0.0, (1 << count) - 1, [], chain.compute_time, True)
    return best


def best_of_both_orders(chain: Chain, cost: Cost, cuts, judge) -> float:
    """Time of contiguous buckets, most urgent released first: never cut, or cut at releases."""
    buckets = contiguous(chain, cuts)
    _, value = cut_at_releases(buckets, cost)
    waiting = set(range(len(buckets)))
    now = uncut = 0.0
    while waiting:
        ready = [b for b in waiting if buckets.release[b] <= now]
        if not ready:
            now = min(buckets.release[b] for b in waiting)
            continue
        bucket = max(ready, key=lambda b: (buckets.tail[b], -b))
        waiting.remove(bucket)
        now += cost.time(int(buckets.bytes[bucket]))
        uncut = max(uncut, now + float(buckets.tail[bucket]))
    return max(chain.compute_time, min(value, uncut))


def lexicographic_value(jobs: Jobs) -> float:
    """Solve PACE (14) as printed, with exact weights (TN)^(t+q), as a flow in whole numbers."""
    horizon = int(jobs.release.max() + jobs.duration.sum())
    base = horizon * len(jobs)
    return _flow_value(jobs, horizon, lambda t, q: base ** (t + q))


def weighted_value(jobs: Jobs) -> float:
    """Solve one LP with the weights (t+1)(1+q), as a flow in whole numbers."""
    horizon = int(jobs.release.max() + jobs.duration.sum())
    return _flow_value(jobs, horizon, lambda t, q: (t + 1) * (1 + q))


def _flow_value(jobs: Jobs, horizon: int, weight) -> float:
    """Transport each job's slots to the slots of time at least cost; the value of the result."""
    network: nx.DiGraph = nx.DiGraph()
    network.add_node("sink", demand=int(jobs.duration.sum()))
    for j in range(len(jobs)):
        network.add_node(("job", j), demand=-int(jobs.duration[j]))
        for t in range(int(jobs.release[j]), horizon):
            cost = weight(t, int(jobs.tail[j]))
            network.add_edge(("job", j), ("slot", t), capacity=1, weight=cost)
            network.add_edge(("slot", t), "sink", capacity=1)
    flow = nx.min_cost_flow(network)
    value = 0.0
    for j in range(len(jobs)):
        used = [slot[1] for slot, amount in flow[("job", j)].items() if amount]
        end = max(used) + 1 if used else int(jobs.release[j])
        value = max(value, float(end + jobs.tail[j]))
    return value


def cp_sat_values(problems: list[Jobs]) -> tuple[list[float], float]:
    """Least max(C + q) of each problem by CP-SAT, and the seconds that took without imports.

    In a process of its own: OR-Tools and highspy each bring a HiGHS, and cannot be loaded together.
    """
    rows = [[p.release.tolist(), p.duration.tolist(), p.tail.tolist()] for p in problems]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cp_sat"],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    return answer["values"], answer["seconds"]
