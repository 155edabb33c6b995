"""The critical path of a program: what ran at each moment of what made it take this long."""

from collections.abc import Iterable
from dataclasses import dataclass

from solver.programs.execute import ProgramRun, bucket_id
from solver.programs.explanation.holders import Holds
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, WAIT, Program


@dataclass(frozen=True, slots=True)
class ProgramPathStep:
    """One piece of the critical path.

    Attributes
    ----------
    do
        ``compute``, ``pack``, ``launch`` or ``unpack``.
    id
        The op, or the bucket.
    ops
        The op, or the bucket's collectives.
    start_us, end_us
        When it ran; it starts exactly when the one before it ends.
    why
        Why it started no earlier: ``start``, ``after`` (it comes after the one before it),
        ``channel``, ``stream`` or ``wait`` (its stream waited for the launch before it).
    kind, channel
        Of a launch: kind of collective, and what carried it.
    """

    do: str
    id: str
    ops: tuple[str, ...]
    start_us: float
    end_us: float
    why: str
    kind: str | None = None
    channel: str | None = None


@dataclass(frozen=True, slots=True)
class PathTimes:
    """The critical path by cause; the times add up to the iteration time.

    Attributes
    ----------
    compute_us
        Ops of compute [us].
    copies_us
        Packing and unpacking [us].
    channels_us
        Exposed launches, of each channel on it [us], in the order of their names.
    """

    compute_us: float
    copies_us: float
    channels_us: dict[str, float]


def critical_path(
    problem: ProgramProblem, program: Program, run: ProgramRun, holds: Holds
) -> tuple[ProgramPathStep, ...]:
    """Walk back from the last end to 0, from each step to what it started right after.

    The steps cover the iteration without gap or overlap. A wait is none: what it held starts right
    after the launch. Of several that end last the first of the program counts. O(steps).
    """
    steps: list[ProgramPathStep] = []
    here: int | None = next(
        (
            place
            for place, ((do, _), span) in enumerate(zip(program.steps, run.spans, strict=True))
            if do != WAIT and span.end == run.iteration_time > 0
        ),
        None,
    )
    while here is not None:
        steps.append(_piece(problem, program, run, holds, here))
        here = holds.holders[here].step
    return tuple(reversed(steps))


def step_id(problem: ProgramProblem, program: Program, place: int) -> str:
    """Name the op or the bucket of the step at a place."""
    do, what = program.steps[place]
    return problem.graph.ops[what].id if do == COMPUTE else bucket_id(what)


def path_times(path: Iterable[ProgramPathStep]) -> PathTimes:
    """Sum a critical path by cause; O(steps)."""
    compute = copies = 0.0
    channels: dict[str, float] = {}
    for step in path:
        time = step.end_us - step.start_us
        if step.do == COMPUTE:
            compute += time
        elif step.channel is not None:
            channels[step.channel] = channels.get(step.channel, 0.0) + time
        else:
            copies += time
    return PathTimes(compute, copies, dict(sorted(channels.items())))


def _piece(
    problem: ProgramProblem, program: Program, run: ProgramRun, holds: Holds, place: int
) -> ProgramPathStep:
    graph, span = problem.graph, run.spans[place]
    do, what = program.steps[place]
    members = (what,) if do == COMPUTE else program.buckets[what]
    first = graph.ops[members[0]]
    return ProgramPathStep(
        do,
        step_id(problem, program, place),
        tuple(graph.ops[i].id for i in members),
        span.start,
        span.end,
        holds.holders[place].why,
        first.kind if do == LAUNCH else None,
        first.channel if do == LAUNCH else None,
    )
