"""Programs of the compiled graphs of ``shared/data/compiled``, beside PyTorch and other rules.

``python -m tests.benchmarks.programs [--jitter] [--rules] [--chunks] [--robust] [GRAPH ...]``.
Times in ms, memory in GiB, CPU seconds of this process. What launches read is held to their waits
in all programs. The memory limit of each graph is the peak of PyTorch's own program under that
rule, where it is known; else that of our form of its rule, ``inductor``, marked by ``*``. Rules
alone, experts in chunks and robust programs have none.
"""

import argparse
import random
import time
from collections.abc import Callable
from dataclasses import replace

from solver.costs import ChannelCost, Cost
from solver.evidence.baseline import Baseline
from solver.evidence.robustness import RobustOptions
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies import POLICIES
from solver.programs.policies.inductor import inductor
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.replanned import with_changes
from solver.simulation.chunking import Chunking
from solver.simulation.what_if import Change
from tests.programs.shared import BEST, TO_WAIT, load, names

GIB = 1 << 30

#: A watchdog so late that moves end the search, on a busy machine, too [s].
_NO_CLOCK = 600.0

#: Shares by which compute and launches vary, and times of all launches.
JITTERS = {"as planned": (0.0, 0.0, 1.0), "jitter": (0.1, 0.2, 1.0), "slow": (0.0, 0.0, 1.3)}

#: A program without a limit, and one chosen by draws.
ROBUST = ("graph", "as planned", "slow", "robust", "slow", "best rule, slow")

#: In how many chunks experts are cut, and the columns of that.
COUNTS = (2, 4)
CHUNKED = (
    "graph",
    "as it is",
    "bound",
    *(f"{c} chunks{w}" for c in COUNTS for w in ("", ", bound")),
)

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


def in_chunks(name: str) -> list[str]:
    """Return time and bound of a graph, and with its experts in chunks."""
    found = [plan(load(name), ProgramOptions(baselines=()))]
    for count in COUNTS:
        change = Change("*", kind="all_to_all", chunks=Chunking(count))
        found.append(with_changes(found[0], [change], ProgramOptions(baselines=())))
    figures = [(each.run.iteration_time, each.bound.value_us) for each in found]
    return [name, *(f"{time / 1e3:.1f}" for pair in figures for time in pair)]


def robustly(name: str) -> list[str]:
    """Return the times of a program without a limit, and chosen by draws: stated, and slow."""
    problem = load(name)
    slow = jittered(problem, 0, *JITTERS["slow"])
    plain, robust = (
        plan(problem, ProgramOptions(robust=how)) for how in (None, RobustOptions("mean", 20))
    )
    rules = [execute(slow, make(problem)).iteration_time for make in POLICIES.values()]
    times = [
        *(execute(each, plain.program).iteration_time for each in (problem, slow)),
        *(execute(each, robust.program).iteration_time for each in (problem, slow)),
        min(rules),
    ]
    return [name, *(f"{time / 1e3:.1f}" for time in times)]


def by_rule(name: str) -> list[str]:
    """Return time and peak of each rule without a limit of memory."""
    problem = load(name)
    runs = [execute(problem, make(problem)) for make in POLICIES.values()]
    return [
        name,
        *(f"{run.iteration_time / 1e3:.1f} ({run.peak_bytes / GIB:.2f})" for run in runs),
    ]


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
    parser.add_argument("--chunks", action="store_true", help="also cut experts in chunks")
    parser.add_argument("--robust", action="store_true", help="also choose by draws")
    parser.add_argument("--rules", action="store_true", help="also run every rule alone")
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
    if asked.chunks:
        table([in_chunks(name) for name in names() if name.startswith("dsv3")], CHUNKED, print)
    if asked.robust:
        table([robustly(name) for name in names()], ROBUST, print)
    if asked.rules:
        table([by_rule(name) for name in names()], ("graph", *POLICIES), print)


if __name__ == "__main__":
    main()
