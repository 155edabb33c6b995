"""Why the launches of a program start no earlier, by asking for them earlier."""

from dataclasses import dataclass

from solver.programs.execute import ProgramRun, execute
from solver.programs.explanation.critical import step_id
from solver.programs.explanation.holders import AFTER, CHANNEL, START, STREAM, Holder, Holds
from solver.programs.problem import ProgramProblem
from solver.programs.program import LAUNCH, PACK, WAIT, HostStep, Program
from solver.units import same

#: Steps of programs that are executed to find reasons; launches beyond that are not tried.
MOST_EXECUTED = 100_000

#: Why a launch starts no earlier, beside ``start``, ``channel`` and ``stream``: an input of it is
#: written only then. Or the host asks for it only then, since asked for earlier it would take more
#: memory than allowed; more bytes under way than allowed; a longer iteration; more memory at the
#: peak; nothing, and gain nothing; nothing, and the iteration would be shorter. ``host``: that was
#: not tried.
INPUT, MEMORY, UNDER_WAY, TIME, PEAK, PUT_OFF, MISSED, HOST = (
    "input",
    "memory",
    "under_way",
    "time",
    "peak",
    "put_off",
    "missed",
    "host",
)

#: All of these.
REASONS = (START, INPUT, CHANNEL, STREAM, MEMORY, UNDER_WAY, TIME, PEAK, PUT_OFF, MISSED, HOST)

#: What is moved with a launch.
_OWN = (PACK, LAUNCH)


@dataclass(frozen=True, slots=True)
class MovedLaunch:
    """The program with one launch asked for earlier, simulated.

    Attributes
    ----------
    before
        Op or bucket before whose step it is asked for.
    start_us
        When the launch starts then [us].
    iteration_time_us
        What the program takes then [us].
    peak_bytes
        The most memory that it takes.
    peak_us
        When that is first reached [us].
    excess_bytes
        How far above the limit of memory, or of bytes under way; null: not.
    """

    before: str
    start_us: float
    iteration_time_us: float
    peak_bytes: int
    peak_us: float
    excess_bytes: int | None


@dataclass(frozen=True, slots=True)
class LaunchReason:
    """Why a launch starts no earlier.

    Attributes
    ----------
    bucket
        Its place in :attr:`solver.programs.program.Program.buckets`.
    start_us
        When it starts.
    could_start_us
        When it would start if it were asked for right after the last of its inputs, all else as it
        is: nowhere in this program does it start earlier.
    why
        ``start``, ``input``, ``channel``, ``stream``, ``memory``, ``under_way``, ``time``,
        ``peak``, ``put_off``, ``missed`` or ``host``.
    by
        The op or the bucket that holds it; None of ``start``.
    moved
        What came of asking earlier; None where that was not tried or could not help.
    """

    bucket: int
    start_us: float
    could_start_us: float
    why: str
    by: str | None
    moved: MovedLaunch | None = None


def launch_reasons(
    problem: ProgramProblem,
    program: Program,
    run: ProgramRun,
    holds: Holds,
    most_executed: int = MOST_EXECUTED,
) -> tuple[LaunchReason, ...]:
    """Say of each launch what holds it, and what would come of asking for it earlier.

    What its inputs hold starts no earlier in any program of these buckets and this order of
    compute before it. Others are asked for before the step that holds them, and if that harms
    nothing right after their inputs, and the program is executed: what that breaks or costs is the
    reason. Those that the host asks for late are tried first, then those whose channel was busy; of
    these first what starts the longest after it could.

    Parameters
    ----------
    most_executed
        Steps that may be executed in all; a launch takes twice the program's.

    Notes
    -----
    O(steps + edges), and twice that for each launch tried.
    """
    places = {what: at for at, (do, what) in enumerate(program.steps) if do == LAUNCH}
    packs = {what: at for at, (do, what) in enumerate(program.steps) if do == PACK}
    found, open_ = {}, []
    for b in range(len(program.buckets)):
        holder = _holder(holds, places[b], packs.get(b))
        start, could = run.spans[places[b]].start, holds.earliest[b].start
        by = None if holder.step is None else step_id(problem, program, holder.step)
        why = {AFTER: INPUT, START: START, CHANNEL: CHANNEL}.get(holder.why, STREAM)
        found[b] = LaunchReason(b, start, could, why, by)
        if could < start and not same(could, start):
            found[b] = LaunchReason(b, start, could, CHANNEL if why == CHANNEL else HOST, by)
            open_.append((why == CHANNEL, could - start, b, holder))
    tried = max(0, most_executed // (2 * max(1, len(program.steps))))
    for _, _, b, holder in sorted(open_, key=lambda each: each[:3])[:tried]:
        found[b] = _tried(problem, program, run, found[b], holder, holds)
    return tuple(found[b] for b in range(len(program.buckets)))


def moved_before(program: Program, bucket: int, place: int) -> Program:
    """Ask for a launch, and its packing, before the step at a place that is not behind it."""
    own = [step for step in program.steps if step.id == bucket and step.do in _OWN]
    first = program.steps.index(own[0])
    rest = [step for step in program.steps[place:] if step not in own]
    assert place <= first, "a launch is moved forward"
    return Program(program.buckets, (*program.steps[:place], *own, *rest))


def _holder(holds: Holds, launch: int, pack: int | None) -> Holder:
    """Return what holds a launch, or its packing where it starts right after that."""
    holder = holds.holders[launch]
    return holds.holders[pack] if pack is not None and holder.step == pack else holder


def _tried(
    problem: ProgramProblem,
    program: Program,
    run: ProgramRun,
    reason: LaunchReason,
    holder: Holder,
    holds: Holds,
) -> LaunchReason:
    b, first = reason.bucket, holds.earliest[reason.bucket].place
    own = next(at for at, step in enumerate(program.steps) if step.id == b and step.do in _OWN)
    asked = first if holder.asked is None else max(first, min(holder.asked, own))
    why, moved = PUT_OFF, None
    for place in dict.fromkeys((asked, first)):
        other = moved_before(program, b, place)
        after = execute(problem, other)
        start = after.spans[other.steps.index(HostStep(LAUNCH, b))].start
        if start >= reason.start_us:
            continue
        why, excess = _harm(problem, other, run, after)
        moved = MovedLaunch(
            step_id(problem, program, place),
            start,
            after.iteration_time,
            after.peak_bytes,
            after.peak_us,
            excess,
        )
        if why not in {PUT_OFF, MISSED}:
            break
    if reason.why == CHANNEL:
        why = CHANNEL
    return LaunchReason(b, reason.start_us, reason.could_start_us, why, reason.by, moved)


def _harm(
    problem: ProgramProblem, other: Program, run: ProgramRun, after: ProgramRun
) -> tuple[str, int | None]:
    """Say what asking earlier breaks or costs, and by how much it breaks it."""
    limits = problem.limits
    if limits.memory_bytes is not None and after.peak_bytes > limits.memory_bytes:
        return MEMORY, after.peak_bytes - limits.memory_bytes
    excess = _excess(problem, other)
    if excess > 0:
        return UNDER_WAY, excess
    if not same(after.iteration_time, run.iteration_time):
        return (TIME if after.iteration_time > run.iteration_time else MISSED), None
    return (PEAK if after.peak_bytes > run.peak_bytes else PUT_OFF), None


def _excess(problem: ProgramProblem, program: Program) -> int:
    """By how much a program has more bytes under way than allowed; 0 where it has not."""
    most, ops = problem.limits.under_way_bytes, problem.graph.ops
    if most is None:
        return 0
    under_way: dict[int, int] = {}
    excess = 0
    for do, what in program.steps:
        if do == LAUNCH:
            under_way[what] = sum(ops[i].bytes or 0 for i in program.buckets[what])
            if len(under_way) > 1:
                excess = max(excess, sum(under_way.values()) - most)
        elif do == WAIT:
            del under_way[what]
    return excess
