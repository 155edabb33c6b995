"""Exact answers by OR-Tools' CP-SAT, as a program: problems as JSON in, values as JSON out."""

import json
import sys
import time
from typing import Any, NamedTuple

from ortools.sat.python import cp_model


def preemptive(release: list[int], duration: list[int], tail: list[int]) -> float:
    """Least max(C + q) on one machine with preemption, a variable for each job and slot."""
    horizon = max(release) + sum(duration)
    model = cp_model.CpModel()
    value = model.new_int_var(0, horizon + max(tail), "value")
    slots: list[list[cp_model.IntVar]] = [[] for _ in range(horizon)]
    for r, p, q in zip(release, duration, tail, strict=True):
        used: list[cp_model.IntVar] = []
        for t in range(r, horizon):
            x = model.new_bool_var(f"{len(used)},{t}")
            model.add(value >= t + 1 + q).only_enforce_if(x)
            used.append(x)
            slots[t].append(x)
        model.add(sum(used) == p)
        if not p:
            model.add(value >= r + q)
    for bools in slots:
        model.add_at_most_one(bools)
    model.minimize(value)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return solver.objective_value


def uncut(problem: dict[str, list[int]], startup: int, limit_s: float) -> dict[str, float | bool]:
    """Best buckets and order without parts: every tensor takes one of as many launches as tensors.

    Times in whole units; ``work`` is each tensor's time on the channel, ``startup`` each launch's.
    """
    release, work, tail = problem["release"], problem["work"], problem["tail"]
    count = len(work)
    horizon = max(release) + sum(work) + count * startup + max(tail)
    model = cp_model.CpModel()
    value = model.new_int_var(0, horizon, "value")
    place = [[model.new_bool_var(f"{i},{p}") for p in range(count)] for i in range(count)]
    for i in range(count):
        model.add_exactly_one(place[i])
    now: cp_model.IntVar | int = 0
    for p in range(count):
        used = model.new_bool_var(f"used{p}")
        model.add_max_equality(used, [place[i][p] for i in range(count)])
        start = model.new_int_var(0, horizon, f"start{p}")
        end = model.new_int_var(0, horizon, f"end{p}")
        model.add(start >= now)
        carried = sum(work[i] * place[i][p] for i in range(count))
        model.add(end == start + startup * used + carried)
        for i in range(count):
            model.add(start >= release[i]).only_enforce_if(place[i][p])
            model.add(value >= end + tail[i]).only_enforce_if(place[i][p])
        now = end
    model.minimize(value)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    return {"value": solver.objective_value, "closed": status == cp_model.OPTIMAL}


class Launch(NamedTuple):
    """One part of the bucket named by a tensor."""

    bucket: int
    start: cp_model.IntVar
    bytes: cp_model.IntVar
    present: cp_model.IntVar
    interval: cp_model.IntervalVar


def general(problem: dict[str, Any], parts: int, limit_s: float, workers: int) -> list[Any]:
    """Best buckets, cuts and orders of a graph: value, closed, seconds, launches by start.

    Every collective is in the bucket of one of its lane, named by its least member. A bucket is
    sent in up to ``parts`` parts of whole bytes, each paying the start-up, and those of a channel
    do not overlap; the first starts when all that any member comes after has ended, and with the
    last all members end. Times in whole units. Heads and tails, longest paths with every
    collective at its own bytes' time, only tighten the ranges of the variables.
    """
    lane, after, sizes = problem["lane"], problem["after"], problem["bytes"]
    startup, per_byte = problem["startup"], problem["per_byte"]
    tensors = [i for i, k in enumerate(lane) if k is not None]
    weight, head, tail, above = _paths(problem)
    horizon = problem["most"]
    if horizon is None:
        horizon = sum(weight) + sum(startup[lane[i]] for i in tensors)
    least = max(h + w + q for h, w, q in zip(head, weight, tail, strict=True))
    if least > horizon:
        return [None, True, 0.0, []]
    model = cp_model.CpModel()
    value = model.new_int_var(least, horizon, "value")
    starts = [model.new_int_var(h, horizon, "") for h in head]
    ends = [model.new_int_var(h + w, horizon, "") for h, w in zip(head, weight, strict=True)]
    for i, found in enumerate(after):
        model.add(value >= ends[i] + tail[i])
        for j in found:
            model.add(starts[i] >= ends[j])
        if lane[i] is None:
            model.add(ends[i] == starts[i] + weight[i])
    named: dict[tuple[int, int], cp_model.IntVar] = {}
    launches: list[Launch] = []
    for j in tensors:
        apart = above[j]
        members = [i for i in tensors if i >= j and lane[i] == lane[j]]
        members = [i for i in members if not (above[i] >> j | apart >> i) & 1]
        named |= {(i, j): model.new_bool_var(f"{i} in {j}") for i in members}
        total = sum(sizes[i] * named[i, j] for i in members)
        price = startup[lane[j]], per_byte[lane[j]]
        begin, end, sent = _parts(model, j, named[j, j], total, price, parts, horizon)
        launches += sent
        for i in members:
            model.add_implication(named[i, j], named[j, j])
            model.add(begin >= starts[i]).only_enforce_if(named[i, j])
            model.add(end == ends[i]).only_enforce_if(named[i, j])
            model.add(ends[i] >= starts[i] + price[0] + weight[i])
    for i in tensors:
        model.add_exactly_one(named[i, j] for j in tensors if (i, j) in named)
    for channel in set(problem["channel"]):
        held = [x.interval for x in launches if problem["channel"][lane[x.bucket]] == channel]
        model.add_no_overlap(held)
    model.minimize(value)
    return _answer(model, named, launches, limit_s, workers)


def _paths(problem: dict[str, Any]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Time, head and tail of each op without start-ups, and the ops that precede it as bits."""
    weight = list(problem["duration"])
    for i, lane in enumerate(problem["lane"]):
        if lane is not None:
            weight[i] = problem["per_byte"][lane] * problem["bytes"][i]
    head, tail, above = ([0] * len(weight) for _ in range(3))
    for i in problem["order"]:
        for j in problem["after"][i]:
            head[i] = max(head[i], head[j] + weight[j])
            above[i] |= above[j] | 1 << j
    for i in reversed(problem["order"]):
        for j in problem["after"][i]:
            tail[j] = max(tail[j], weight[i] + tail[i])
    return weight, head, tail, above


def _parts(
    model: cp_model.CpModel,
    bucket: int,
    used: cp_model.IntVar,
    total: cp_model.LinearExprT,
    price: tuple[int, int],
    parts: int,
    horizon: int,
) -> tuple[cp_model.IntVar, cp_model.IntVar, list[Launch]]:
    """Send the total bytes of a bucket, if used, one part after the other: begin, end, parts."""
    startup, per_byte = price
    begin = now = model.new_int_var(0, horizon, "")
    present = used
    sent: list[Launch] = []
    for p in range(parts):
        size = model.new_int_var(0, horizon // per_byte, "")
        if p:
            earlier, present = present, model.new_bool_var("")
            model.add_implication(present, earlier)
        model.add(size >= 1).only_enforce_if(present)
        model.add(size == 0).only_enforce_if(present.negated())
        start, end, length = (model.new_int_var(0, horizon, "") for _ in range(3))
        model.add(length == startup * present + per_byte * size)
        model.add(start >= now)
        model.add(end == start + length)
        interval = model.new_optional_interval_var(start, length, end, present, "")
        sent.append(Launch(bucket, start, size, present, interval))
        now = end
    model.add(sum(part.bytes for part in sent) == total)
    return begin, now, sent


def _answer(
    model: cp_model.CpModel,
    named: dict[tuple[int, int], cp_model.IntVar],
    launches: list[Launch],
    limit_s: float,
    workers: int,
) -> list[Any]:
    """Solve, and read the launches; one worker's limit is in the solver's own count of work."""
    solver = cp_model.CpSolver()
    if workers == 1:  # about seconds, and the same answer on any machine, idle or not
        solver.parameters.max_deterministic_time = limit_s
    else:
        solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = workers
    status = solver.solve(model)
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return [None, status == cp_model.INFEASIBLE, solver.wall_time, []]
    members: dict[int, list[int]] = {}
    for (i, j), inside in named.items():
        if solver.value(inside):
            members.setdefault(j, []).append(i)
    sent = sorted(
        (solver.value(part.start), members[part.bucket], solver.value(part.bytes))
        for part in launches
        if solver.value(part.present)
    )
    proven = status == cp_model.OPTIMAL
    return [solver.objective_value, proven, solver.wall_time, [row[1:] for row in sent]]


def main() -> None:
    """Answer graphs, a list of preemptive problems, or one problem of buckets without parts."""
    request = json.load(sys.stdin)
    if isinstance(request, dict) and "graphs" in request:
        settings = request["parts"], request["limit_s"], request["workers"]
        print(json.dumps([general(problem, *settings) for problem in request["graphs"]]))
        return
    if isinstance(request, dict):
        print(json.dumps(uncut(request["problem"], request["startup"], request["limit_s"])))
        return
    problems = [[[int(x) for x in row] for row in rows] for rows in request]
    began = time.process_time()
    values = [preemptive(*rows) for rows in problems]
    print(json.dumps({"values": values, "seconds": time.process_time() - began}))


if __name__ == "__main__":
    main()
