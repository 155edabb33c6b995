"""Programs of the compiled graphs of ``shared/data/compiled``, beside PyTorch and other rules.

``python -m tests.benchmarks.programs [--jitter] [GRAPH ...]``. Times in ms, memory in GiB, CPU
seconds of this process. What launches read is held to their waits in all programs. The memory limit
of each graph is the peak of PyTorch's own program under that rule, where it is known; else that of
our form of its rule, ``inductor``, marked by ``*``.
"""

import argparse
import random
import time
from collections.abc import Callable
from dataclasses import replace

from solver.costs import ChannelCost, Cost
from solver.evidence.baseline import Baseline
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies.inductor import inductor
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from tests.programs.shared import BEST, TO_WAIT, load

GIB = 1 << 30

#: A watchdog so late that moves end the search, on a busy machine, too [s].
_NO_CLOCK = 600.0

#: Shares by which compute and launches vary, and times of all launches.
JITTERS = {"as planned": (0.0, 0.0, 1.0), "jitter": (0.1, 0.2, 1.0), "slow": (0.0, 0.0, 1.3)}

COLUMNS = (
    "graph",
    "ops",
    "collectives",
    "compute",
    "program order",
    "PyTorch's best",
    "PyTorch's under the rule",
    "its peak",
    "inductor",
    "its peak",
    "xla_lhs",
    "its peak",
    "Interlace",
    "its peak",
    "bound",
    "gap",
    "buckets",
    "within 0.1 %",
    "CPU",
)


def row(name: str) -> tuple[list[str], ProgramProblem, Program]:
    """Plan a graph; return its row of the table, and the program."""
    free = load(name)
    theirs = execute(free, inductor(free))
    time_ms, peak = TO_WAIT.get(name, (theirs.iteration_time / 1e3, theirs.peak_bytes / GIB))
    mark = "" if name in TO_WAIT else "*"
    problem = load(name, round(peak * GIB))
    began = time.process_time()
    found = plan(problem, ProgramOptions(launch_tolerance=0, time_limit_s=_NO_CLOCK))
    took = time.process_time() - began
    few = plan(problem, ProgramOptions(time_limit_s=_NO_CLOCK))
    rules = {each.policy: each for each in found.baselines}
    own, bound = found.run.iteration_time, found.bound.value_us
    graph = problem.graph
    cells = [
        name,
        f"{len(graph.ops):,}",
        f"{len(graph.collectives)}",
        f"{sum(graph.durations) / 1e3:.1f}",
        f"{(rules['in_order'].iteration_time_us or 0.0) / 1e3:.1f}",
        f"{BEST[name]:.1f}",
        f"{time_ms:.1f}{mark}",
        f"{peak:.2f}{mark}",
        *_of(rules["inductor"]),
        *_of(rules["xla_lhs"]),
        f"{own / 1e3:.2f}",
        f"{found.run.peak_bytes / GIB:.3f}",
        f"{bound / 1e3:.2f}",
        f"{max(0.0, own / bound - 1):.2%}",
        f"{len(found.program.buckets)}",
        f"{len(few.program.buckets)}",
        f"{took:.1f} s",
    ]
    return cells, problem, found.program


def _of(rule: Baseline) -> tuple[str, str]:
    """Write a rule's time and peak."""
    return f"{(rule.iteration_time_us or 0.0) / 1e3:.1f}", f"{(rule.peak_bytes or 0) / GIB:.3f}"


def jittered(
    problem: ProgramProblem, seed: int, compute: float, sent: float, times: float
) -> ProgramProblem:
    """Return a problem whose ops and launches take other times."""
    draw = random.Random(seed)
    durations = tuple(
        time * (1 + compute * draw.uniform(-1, 1)) for time in problem.graph.durations
    )

    def cost(lane: ChannelCost) -> Cost:
        factor = times * (1 + sent * draw.uniform(-1, 1))
        return problem.network(lane).stretch(factor, factor)

    graph = replace(problem.graph, durations=durations)
    return replace(problem, graph=graph, network=replace(problem.network, cost=cost))


def survives(problem: ProgramProblem, program: Program, jitter: tuple[float, float, float]) -> str:
    """Return the mean time of a program over ten draws [ms]."""
    runs = [execute(jittered(problem, seed, *jitter), program) for seed in range(10)]
    return f"{sum(run.iteration_time for run in runs) / len(runs) / 1e3:.1f}"


def table(rows: list[list[str]], head: tuple[str, ...], write: Callable[[str], None]) -> None:
    """Write rows as a table in Markdown."""
    write(f"| {' | '.join(head)} |")
    write(f"|{'---|' * len(head)}")
    for cells in rows:
        write(f"| {' | '.join(cells)} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=list(BEST))
    parser.add_argument("--jitter", action="store_true", help="also vary the times")
    asked = parser.parse_args()
    rows, varied = [], []
    for name in asked.graphs:
        cells, problem, program = row(name)
        rows.append(cells)
        if asked.jitter:
            varied.append([name, *(survives(problem, program, each) for each in JITTERS.values())])
    table(rows, COLUMNS, print)
    if varied:
        table(varied, ("graph", *JITTERS), print)


if __name__ == "__main__":
    main()
