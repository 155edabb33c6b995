"""What a planned program gains over the compiler's own schedule."""

from dataclasses import replace

from solver.evidence.doubts import (
    DOUBTS,
    DoubtedGain,
    doubted_graph,
    doubted_network,
    saved,
)
from solver.evidence.gain import LEAST_GAIN, NOTHING, WHAT_RUNS, Gain, gain_over
from solver.evidence.headline import ComparedPlan, Headline, headline_of
from solver.evidence.what_you_run import compiler_of
from solver.graph.names import OF_XLA
from solver.programs.bounds.bound import lower_bound
from solver.programs.execute import ProgramRun, execute
from solver.programs.policies import program_of
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.result import ProgramPlan
from solver.programs.xla.form import default_form, fastest_form
from solver.wording import memory_size, ms

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

    Of a program of XLA the plan is what XLA makes of it with the flags that are exported, and it is
    compared with what XLA makes of the graph by default; where the flags save nothing and the plan
    would, it is not reachable.

    Notes
    -----
    The compiler's program, if it was not made for this problem yet, and two executions for each
    doubt; of XLA the schedules of :func:`solver.programs.xla.form.fastest_form` as well.
    """
    problem = planned.as_given
    over = compiler_of(problem.graph)
    is_of_xla = OF_XLA in problem.graph.free
    theirs = default_form(problem).program if is_of_xla else program_of(over, problem)
    ran = execute(problem, theirs)
    ours, unreachable = planned.program, None
    if is_of_xla:
        ours, unreachable = _by_xla(planned, ran.iteration_time)
    run = planned.run if ours is planned.program else execute(problem, ours)
    doubted = _doubted(problem, theirs, ours, planned.problem)
    has_memory = bool(problem.graph.buffers)
    gain = gain_over(
        over,
        ran.iteration_time,
        run.iteration_time,
        planned.bound.value_us,
        doubted,
        trust_below=planned.evidence.trust_below,
        headroom_high=_headroom_high(planned, theirs, ran.iteration_time),
        unreachable=unreachable,
        unsound=planned.evidence.unsound,
        runtime=_RUNTIMES[over],
        peak_bytes=(ran.peak_bytes, run.peak_bytes) if has_memory else (None, None),
    )
    return ComparedPlan(headline_of([_with_memory(gain, problem, ran)]), doubted)


def _by_xla(planned: ProgramPlan, today_us: float) -> tuple[Program, str | None]:
    """Return what XLA makes of a plan; the plan and why not where that alone saves something."""
    form = fastest_form(planned.problem, planned.program)
    ours_us = planned.run.iteration_time
    by_form, by_plan = (saved(today_us, us) or 0.0 for us in (form.run.iteration_time, ours_us))
    if by_form >= LEAST_GAIN or by_plan < LEAST_GAIN:
        return form.program, None
    return planned.program, (
        f"XLA's flags do not carry it: with the nearest, XLA takes {ms(form.run.iteration_time)}."
    )


def xla_gain(problem: ProgramProblem, ours: Program) -> Gain:
    """Judge what a program that XLA runs saves over what it runs by default; no plan is needed."""
    theirs = default_form(problem).program
    today, run = execute(problem, theirs), execute(problem, ours)
    recorded = problem.graph.recorded
    return gain_over(
        "xla_lhs",
        today.iteration_time,
        run.iteration_time,
        lower_bound(problem).value_us,
        _doubted(problem, theirs, ours),
        unsound=() if recorded is None else recorded.unsound,
        runtime=_RUNTIMES["xla_lhs"],
    )


def _doubted(
    problem: ProgramProblem, theirs: Program, ours: Program, planned: ProgramProblem | None = None
) -> tuple[DoubtedGain, ...]:
    """Return both times where the costs are off; ``planned`` is ours, where that is another."""
    rows = []
    for doubt in DOUBTS:
        network = doubted_network(problem.network, doubt)
        today, plan = (
            execute(replace(of, graph=doubted_graph(of.graph, doubt), network=network), program)
            for of, program in ((problem, theirs), (planned or problem, ours))
        )
        times = today.iteration_time, plan.iteration_time
        rows.append(DoubtedGain(doubt.name, *times, saved(*times)))
    return tuple(rows)


def _with_memory(gain: Gain, problem: ProgramProblem, ran: ProgramRun) -> Gain:
    """Say so where the compiler's program is above the limit, or the plan takes more memory."""
    name, limit = WHAT_RUNS[gain.over], problem.limits.memory_bytes
    if gain.today_peak_bytes is None or gain.plan_peak_bytes is None:
        return gain
    if limit is not None and ran.peak_bytes > limit:
        return replace(gain, why=f"{gain.why} {name} itself takes more memory than the limit.")
    more = gain.plan_peak_bytes - gain.today_peak_bytes
    if more > 0:
        return replace(gain, why=f"{gain.why} It takes {memory_size(more)} more than {name}.")
    return gain


def _headroom_high(planned: ProgramPlan, theirs: Program, time: float) -> float | None:
    """Return the most that any program saves, if that is next to nothing; see the plans' headline.

    None where under one of the doubts more than :data:`NOTHING` may be saved.
    """
    most = saved(time, planned.bound.value_us)
    if most is None or most > NOTHING:
        return None
    problem = planned.as_given
    if planned.recomputation is not None:  # what a limit raises does not hold of second runs
        problem = replace(problem, limits=replace(problem.limits, memory_bytes=None))
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
