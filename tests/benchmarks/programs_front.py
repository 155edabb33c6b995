"""Fronts of time and memory of the compiled graphs of ``shared/data/compiled``.

``python -m tests.benchmarks.programs_front [GRAPH ...] [--limits-gib GIB ...]``. Without limits
there are eleven: ten evenly from the least peak that is found to that of the program without a
limit, and none. Beside each time the best of all rules, first of those that keep the limit, then
with those repaired that exceed it. The fastest program found may be merged into fewer launches, and
then takes up to 0.1 % longer. Times in ms, memory in GiB, CPU seconds of this process for all
limits of a graph.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from solver.programs.bounds.surely_live import memory_bound
from solver.programs.execute import execute
from solver.programs.front import plan_front
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies import POLICIES, program_of
from solver.programs.policies.least_memory import least_peak
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.search.draft import ProgramDraft
from solver.programs.search.search import ProgramSearch
from tests.benchmarks.programs import GIB, table
from tests.programs.shared import FOLDER, load

COLUMNS = ("graph", "limit", "time", "fastest found", "peak", "gap", "best rule", "repaired", "CPU")

#: Limits of a front, without the last, which is none.
_LIMITS = 10


def limits_of(problem: ProgramProblem) -> list[int | None]:
    """Return the limits of a front [bytes], None last."""
    runs = [execute(problem, program_of(name, problem)) for name in POLICIES]
    least = least_peak(problem, memory_bound(problem) - 1, min(run.peak_bytes for run in runs))
    most = plan(problem).peak_bytes
    return [*(least + k * (most - least) // (_LIMITS - 1) for k in range(_LIMITS)), None]


def best_rule(problem: ProgramProblem, rules: Sequence[Program]) -> tuple[float, float]:
    """Return the times of the best rule [us]: of those that keep the limit, and of all repaired."""
    search = ProgramSearch(problem, lambda _program, _time: None)
    search.begin(rules)
    draft = ProgramDraft(search.flat)
    keeping = repaired = inf
    for rule in rules:
        draft.follow(rule, is_eager=False)
        draft.execute(inf)
        if draft.excess == 0:
            keeping = min(keeping, draft.value)
        elif search.repair is not None:
            search.repair.make(draft)
            draft.execute(inf)
        if draft.excess == 0:
            repaired = min(repaired, draft.value)
    return keeping, repaired


def rows(name: str, limits: Sequence[int | None]) -> list[list[str]]:
    """Plan a front; return a row for each limit, the CPU time in the first."""
    problem = load(name)
    limits = limits or limits_of(load(name))
    began = time.process_time()
    front = plan_front(problem, limits, ProgramOptions())
    took = f"{time.process_time() - began:.1f} s"
    rules = [program_of(policy, problem) for policy in POLICIES]
    found = []
    for k, each in enumerate(front):
        limit = "none" if each.limit is None else f"{each.limit / GIB:.6f}"
        limits_of_it = replace(problem.limits, memory_bytes=each.limit)
        compared = best_rule(replace(problem, limits=limits_of_it), rules)
        best = [f"{us / 1e3:.2f}" if us < inf else "-" for us in compared]
        cells = [name, limit, "-", "-", "-", "-", *best, took if k == 0 else ""]
        if each.plan is not None:
            planned, total = each.plan, each.plan.iteration_time_us
            gap = f"{planned.gap or 0:.2%}" + (f" ({planned.cut})" if planned.cut else "")
            peak, fastest = planned.peak_bytes / GIB, planned.best_time_us / 1e3
            cells[2:6] = [f"{total / 1e3:.2f}", f"{fastest:.2f}", f"{peak:.4f}", gap]
        found.append(cells)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    graphs = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))
    parser.add_argument("graphs", nargs="*", default=graphs)
    parser.add_argument("--limits-gib", nargs="*", type=float, help="0 is none")
    asked = parser.parse_args()
    limits = [int(each * GIB) if each else None for each in asked.limits_gib or ()]
    for name in asked.graphs:
        table(rows(name, limits), COLUMNS, print)


if __name__ == "__main__":
    main()
