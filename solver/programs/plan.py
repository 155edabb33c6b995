"""From a problem to a program with its evidence: the table of contents of this package."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from solver.bounds.status import FEASIBLE, status_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.evidence.baseline import baseline_of
from solver.evidence.doubts import Doubt, doubted_graph, doubted_network
from solver.evidence.evidence import Evidence, evidence_of, is_measured
from solver.evidence.robustness import RobustOptions, robust_faults
from solver.fusion.few_launches import launch_tolerance_faults
from solver.limits import MAX_BYTES
from solver.programs.bounds.bound import lower_bound
from solver.programs.check import memory_faults
from solver.programs.exact.explore import explore
from solver.programs.execute import ProgramRun, execute, known_run
from solver.programs.infeasible import no_program, refuse_impossible
from solver.programs.policies import POLICIES, program_of
from solver.programs.problem import ProgramProblem, compute_time
from solver.programs.program import Program
from solver.programs.result import ProgramPlan
from solver.programs.robust import most_robust_program
from solver.programs.search.changes import UndoableDraft
from solver.programs.search.few_launches import with_few_launches
from solver.programs.search.flat import Flat, is_one_stream
from solver.programs.search.late import put_off
from solver.programs.search.late_waits import wait_late
from solver.programs.search.search import ProgramSearch
from solver.watchdog import TIME_LIMIT_S, Watchdog

#: Of the changes of a search so many are tried for each of the costs that are off, for a robust
#: program.
_DOUBTED = 0.25


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """How to plan.

    Attributes
    ----------
    baselines
        Keys of :data:`POLICIES`, to compare with; the program is never slower than one of these
        that keeps the limits.
    seed
        Of every random choice.
    time_limit_s
        A watchdog: after so much CPU time, or twice that on the clock, the best program so far is
        the answer, and says so [s].
    effort
        Multiplies how many changes are tried.
    share
        Of the changes that a search of this size tries, so much: of programs that are planned
        together each is to take less. It is felt by large graphs alone.
    margin_us
        A launch is put off until it ends this long before it is needed, where that costs neither
        time nor memory [us]; None leaves it where the search put it.
    launch_tolerance
        Buckets are merged while the program takes at most this share longer than the best one, and
        no more memory than that or, where there is a limit, than the limit; of graphs without
        buffers no memory is known. 0 leaves them.
    robust
        Choose by the mean or p95 of its times over draws of costs, compute and launches
        (:mod:`solver.programs.robust`); None by its time at the stated ones.
    """

    baselines: tuple[str, ...] = tuple(POLICIES)
    seed: int = 0
    time_limit_s: float = TIME_LIMIT_S
    effort: int = 1
    share: float = 1.0
    margin_us: float | None = 50_000.0
    launch_tolerance: float = 0.001
    robust: RobustOptions | None = None


#: Called with each better program and its time [us].
Report = Callable[[Program, float], None]


def plan(
    problem: ProgramProblem,
    options: ProgramOptions = ProgramOptions(),
    report: Report = lambda _program, _time: None,
    known: tuple[Program, ...] = (),
) -> ProgramPlan:
    """Choose the order of compute, the buckets, their launches and waits together.

    ``known`` are programs of the problem that it is never slower than, where they keep the limits
    and the stated costs decide. Where compute is on several streams, or on none, there is no
    search: the best of all policies is the plan.

    Raises
    ------
    InvalidOptions
        When a baseline is unknown, or no program was found that keeps the memory limit; the least
        memory found and what every program takes are said.
    """
    if faults := list(_option_faults(options)):
        raise InvalidOptions(faults)
    found = _planned(problem, options, report, known)
    return found if options.robust is None else _robust(found, options, options.robust)


def _robust(nominal: ProgramPlan, options: ProgramOptions, how: RobustOptions) -> ProgramPlan:
    """Choose among the program for the stated costs, those for others, and those of all rules."""
    problem = nominal.problem
    most = problem.limits.memory_bytes

    def keeps(program: Program) -> bool:
        return most is None or execute(problem, program).peak_bytes <= most

    made = {name: program_of(name, problem) for name in POLICIES}
    rules = {name: program for name, program in made.items() if keeps(program)}
    alone = replace(options, baselines=(), share=options.share * _DOUBTED, robust=None)

    def planned(doubt: Doubt) -> Iterator[Program]:
        graph, network = (
            doubted_graph(problem.graph, doubt),
            doubted_network(problem.network, doubt),
        )
        other = replace(problem, graph=graph, network=network)
        try:
            found = plan(other, alone, known=(nominal.program, *rules.values())).program
        except InvalidOptions:  # with other times everything takes more memory
            return
        if keeps(found):
            yield found

    program, robustness = most_robust_program(problem, nominal.program, rules, planned, how)
    run = execute(problem, program)
    time, bound = run.iteration_time, nominal.bound.value_us
    best_time = min(nominal.best_time_us, time)
    baselines = tuple(
        baseline_of(each.policy, each.iteration_time_us, time, bound, peak_bytes=each.peak_bytes)
        for each in nominal.baselines
    )
    status = status_of(time, best_time, bound)
    return replace(
        nominal,
        program=program,
        run=run,
        status=status,
        best_time_us=best_time,
        baselines=baselines,
        robust=robustness,
    )


def _planned(
    problem: ProgramProblem,
    options: ProgramOptions,
    report: Report,
    known: tuple[Program, ...],
) -> ProgramPlan:
    """Plan for the stated costs."""
    watchdog = Watchdog(options.time_limit_s)
    first = (POLICIES["in_order"](problem), *known)
    search = ProgramSearch(problem, report) if is_one_stream(problem) else None
    if search:
        search.begin(first)
    names = dict.fromkeys((*options.baselines, *(() if search else POLICIES)))
    programs = {name: program_of(name, problem) for name in names}
    runs = {name: known_run(problem, program) for name, program in programs.items()}
    found = [(program, known_run(problem, program)) for program in first]
    found += [(programs[name], runs[name]) for name in names]
    cut, least = None, min(run.peak_bytes for _, run in found)
    refuse_impossible(problem, least)
    bound = lower_bound(problem)
    if search:
        tried = explore(problem, search.value, bound, watchdog)
        bound = tried.bound
        if tried.program is not None:
            found.append((tried.program, execute(problem, tried.program)))
            report(tried.program, found[-1][1].iteration_time)
        if not tried.is_whole:
            search.run(
                options.seed,
                programs.values(),
                bound.value_us,
                watchdog,
                options.effort,
                options.share,
            )
        cut, least = watchdog.cut, min(least, search.least_peak)
        if search.best is not None:
            found.append((search.best, execute(problem, search.best)))
    program, run = _best(problem, found, least)
    best_time = run.iteration_time
    if options.launch_tolerance and is_one_stream(problem):
        program, run = _fewest(problem, program, run, options.launch_tolerance, options.share)
    if options.margin_us is not None and is_one_stream(problem):
        program, run = _later(problem, program, run, options.margin_us)
    if problem.limits.memory_bytes is not None and is_one_stream(problem):
        program, run = _late_waits(problem, program, run)
    baselines = tuple(
        baseline_of(
            name,
            runs[name].iteration_time,
            run.iteration_time,
            bound.value_us,
            peak_bytes=runs[name].peak_bytes,
        )
        for name in options.baselines
    )
    best_time = min(best_time, run.iteration_time)
    status = status_of(run.iteration_time, best_time, bound.value_us)
    evidence = program_evidence(problem, found[0][1], cut if status == FEASIBLE else None)
    return ProgramPlan(problem, program, run, status, best_time, bound, baselines, evidence)


def program_evidence(
    problem: ProgramProblem,
    as_given: ProgramRun | None = None,
    cut: str | None = None,
    *,
    is_here: bool = True,
) -> Evidence:
    """Gather what a program rests on.

    ``as_given`` runs the graph in the order that it has, None where that is not done yet; the rest
    is as in :func:`solver.evidence.evidence.evidence_of`.
    """
    graph, network = problem.graph, problem.network
    if as_given is None and is_measured(graph, network):
        as_given = execute(problem, POLICIES["in_order"](problem))
    today = None if as_given is None else as_given.iteration_time
    return evidence_of(graph, network, today, compute_time(graph), cut, is_here=is_here)


def _best(
    problem: ProgramProblem, found: list[tuple[Program, ProgramRun]], least: int
) -> tuple[Program, ProgramRun]:
    """Return the fastest that keeps the memory limit, of equals the one of least memory.

    ``least`` is the least memory of any program looked at [bytes].
    """
    most = problem.limits.memory_bytes
    kept = [each for each in found if most is None or each[1].peak_bytes <= most]
    if most is not None and not kept:
        raise no_program(problem, most, least)
    return min(kept, key=lambda each: (each[1].iteration_time, each[1].peak_bytes))


def _fewest(
    problem: ProgramProblem, program: Program, run: ProgramRun, tolerance: float, share: float
) -> tuple[Program, ProgramRun]:
    """Merge buckets, where that takes little longer and no memory that is not there."""
    limit = run.iteration_time * (1 + tolerance)
    most = problem.limits.memory_bytes
    if most is None:  # without buffers no memory is told
        most = run.peak_bytes if problem.graph.buffers else MAX_BYTES
    other = with_few_launches(Flat(problem), program, limit, most, share)
    if len(other.buckets) >= len(program.buckets):
        return program, run
    after = execute(problem, other)
    is_within = after.iteration_time <= limit and after.peak_bytes <= most
    return (other, after) if is_within else (program, run)


def _later(
    problem: ProgramProblem, program: Program, run: ProgramRun, margin_us: float
) -> tuple[Program, ProgramRun]:
    """Put launches off, unless that takes longer or more memory."""
    draft = UndoableDraft(Flat(problem))
    draft.follow(program, is_eager=True)
    put_off(draft, margin_us)
    other = draft.program()
    after = execute(problem, other)
    is_better = after.iteration_time <= run.iteration_time and after.peak_bytes <= run.peak_bytes
    return (other, after) if is_better else (program, run)


def _late_waits(
    problem: ProgramProblem, program: Program, run: ProgramRun
) -> tuple[Program, ProgramRun]:
    """Put waits off within the limit of memory, unless that takes longer."""
    other = wait_late(Flat(problem), program)
    after = execute(problem, other)
    is_longer = after.iteration_time > run.iteration_time
    return (program, run) if is_longer or any(memory_faults(problem, after)) else (other, after)


def _option_faults(options: ProgramOptions) -> Iterator[Fault]:
    yield from launch_tolerance_faults(options.launch_tolerance)
    if options.robust is not None:
        yield from robust_faults(options.robust)
    for i, name in enumerate(options.baselines):
        if name not in POLICIES:
            detail = f"Of programs the policies are {', '.join(POLICIES)}; got {name!r}."
            yield Fault(f"/baselines/{i}", FaultCode.OUT_OF_RANGE, detail)
