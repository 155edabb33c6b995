"""Fronts of time and memory of the compiled graphs of ``shared/data/compiled``.

``python -m tests.benchmarks.programs_front [GRAPH ...] [--limits GIB ...]``. Without limits there
are eleven: ten evenly from the least peak of any rule to that of the program without a limit, and
none. Times in ms, memory in GiB, CPU seconds of this process for all limits of a graph.
"""

import argparse
import time
from dataclasses import replace

from solver.errors import InvalidOptions
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies import POLICIES, program_of
from solver.programs.problem import ProgramProblem
from solver.programs.result import ProgramPlan
from tests.benchmarks.programs import GIB, table
from tests.programs.shared import PYTORCH, load

COUNT = 11


def limits_of(problem):
    runs = [execute(problem, program_of(name, problem)) for name in POLICIES]
    least = min(run.peak_bytes for run in runs)
    most = plan(problem, ProgramOptions(launch_tolerance=0)).run.peak_bytes
    most = max(most, least + 1)
    return [least + k * (most - least) // (COUNT - 2) for k in range(COUNT - 1)] + [None]


def front(problem, limits):
    tried = []
    for limit in limits:
        known = tuple(each.program for each in tried if each)
        asked = replace(problem, limits=replace(problem.limits, memory_bytes=limit))
        try:
            tried.append(plan(asked, ProgramOptions(), known=known))
        except InvalidOptions:
            tried.append(None)
    return tried


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=list(PYTORCH))
    parser.add_argument("--limits", nargs="*", type=float)
    asked = parser.parse_args()
    for name in asked.graphs:
        problem = load(name)
        if asked.limits:
            limits = [int(x * GIB) if x < 1e6 else None for x in asked.limits]
        else:
            limits = limits_of(problem)
        problem.memo.clear()
        t = time.process_time()
        plans = front(problem, limits)
        took = time.process_time() - t
        print(name, f"{took:.1f} s CPU", flush=True)
        for limit, p in zip(limits, plans):
            print(" ", "none" if limit is None else f"{limit/GIB:.6f}", "-" if p is None else f"{p.run.iteration_time/1e3:.2f} {p.run.peak_bytes/GIB:.4f} gap {p.run.iteration_time/p.bound.value_us-1:.2%} {p.cut}", flush=True)


main()
