"""Exact answers by OR-Tools' CP-SAT, as a program: problems as JSON in, values as JSON out."""

import json
import sys
import time

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


def main() -> None:
    """Answer a list of preemptive problems, or one problem of buckets without parts."""
    request = json.load(sys.stdin)
    if isinstance(request, dict):
        print(json.dumps(uncut(request["problem"], request["startup"], request["limit_s"])))
        return
    problems = [[[int(x) for x in row] for row in rows] for rows in request]
    began = time.perf_counter()
    values = [preemptive(*rows) for rows in problems]
    print(json.dumps({"values": values, "seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main()
