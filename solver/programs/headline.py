"""What a planned program gains over the compiler's own schedule."""

from dataclasses import replace

from solver.costs import Network
from solver.evidence.doubts import DOUBTS, doubted_graph, doubted_network, saved, under_doubts
from solver.evidence.gain import NOTHING, WHAT_RUNS, Gain, gain_over
from solver.evidence.headline import ComparedPlan, Headline, headline_of
from solver.evidence.what_you_run import compiler_of
from solver.graph import Graph
from solver.programs.bounds.bound import lower_bound
from solver.programs.execute import ProgramRun, execute
from solver.programs.policies import program_of
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.result import ProgramPlan

#: What runs a program, by the compiler whose schedule it is compared with.
_RUNTIMES = {
    "inductor": "PyTorch: interlace_client.torch.compiled.PlannedPass",
    "xla_lhs": "XLA: interlace export --format xla",
}


def program_headline(planned: ProgramPlan) -> Headline:
    """Return the headline of :func:`program_comparison`."""
    return program_comparison(planned).headline


def program_comparison(planned: ProgramPlan) -> ComparedPlan:
    """Compare a program with that of the compiler, which has the same limits.

    Notes
    -----
    The compiler's program, if it was not made for this problem yet, and two executions for each
    doubt.
    """
    problem = planned.problem
    over = compiler_of(problem.graph)
    theirs = program_of(over, problem)
    ran = execute(problem, theirs)

    def times(graph: Graph, network: Network) -> tuple[float, float]:
        other = replace(problem, graph=graph, network=network)
        today, ours = (execute(other, each) for each in (theirs, planned.program))
        return today.iteration_time, ours.iteration_time

    doubted = under_doubts(problem.graph, problem.network, times)
    has_memory = bool(problem.graph.buffers)
    gain = gain_over(
        over,
        ran.iteration_time,
        planned.run.iteration_time,
        planned.bound.value_us,
        doubted,
        trust_below=planned.evidence.trust_below,
        headroom_high=_headroom_high(planned, theirs, ran.iteration_time),
        unsound=planned.evidence.unsound,
        runtime=_RUNTIMES[over],
        peak_bytes=(ran.peak_bytes, planned.run.peak_bytes) if has_memory else (None, None),
    )
    return ComparedPlan(headline_of([_with_memory(gain, problem, ran)]), doubted)


def _with_memory(gain: Gain, problem: ProgramProblem, ran: ProgramRun) -> Gain:
    """Say so where the compiler's program is above the limit, or the plan takes more memory."""
    name, limit = WHAT_RUNS[gain.over], problem.limits.memory_bytes
    if gain.today_peak_bytes is None or gain.plan_peak_bytes is None:
        return gain
    if limit is not None and ran.peak_bytes > limit:
        return replace(gain, why=f"{gain.why} {name} itself takes more memory than the limit.")
    more = gain.plan_peak_bytes - gain.today_peak_bytes
    if more > 0:
        return replace(gain, why=f"{gain.why} It takes {more / 2**30:.3f} GiB more than {name}.")
    return gain


def _headroom_high(planned: ProgramPlan, theirs: Program, time: float) -> float | None:
    """Return the most that any program saves, if that is next to nothing; see the plans' headline.

    None where under one of the doubts more than :data:`NOTHING` may be saved.
    """
    most = saved(time, planned.bound.value_us)
    if most is None or most > NOTHING:
        return None
    problem = planned.problem
    for doubt in DOUBTS:
        doubted = replace(
            problem,
            graph=doubted_graph(problem.graph, doubt),
            network=doubted_network(problem.network, doubt),
        )
        today = execute(doubted, theirs).iteration_time
        headroom = saved(today, lower_bound(doubted).value_us)
        most = max(most, headroom or 0.0)
        if most > NOTHING:
            return None
    return most
