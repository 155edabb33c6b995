"""How a program runs on the streams and channels of a rank, and how much memory it takes."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from solver.programs.machine import Machine
from solver.programs.problem import TO_WAIT, ProgramProblem, copies_of, launch_time
from solver.programs.program import COMPUTE, LAUNCH, PACK, UNPACK, WAIT, Program


class HostSpan(NamedTuple):
    """When a step of a program ran [us]; of a wait how long it held its streams."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Holding:
    """What holds memory: a buffer, or a copy of a bucket.

    Attributes
    ----------
    name
        A buffer's id, or that of a bucket and which copy.
    bytes
        How much.
    start_us
        From when on [us].
    end_us
        Until when [us].
    """

    name: str
    bytes: int
    start_us: float
    end_us: float


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What a program takes.

    Attributes
    ----------
    iteration_time
        When the last of it has ended [us].
    spans
        Of each step, in the order of the program.
    holdings
        What holds memory and when: buffers in the order of the graph, then copies of buckets.
    profile
        (time [us], bytes from then on), ascending, without repeats.
    peak_bytes, peak_us
        The most memory, and when it is first reached.
    """

    iteration_time: float
    spans: tuple[HostSpan, ...]
    holdings: tuple[Holding, ...]
    profile: tuple[tuple[float, int], ...]
    peak_bytes: int
    peak_us: float


def execute(problem: ProgramProblem, program: Program) -> ProgramRun:
    """Simulate a program as a stream-based runtime executes it.

    The host is never late. A stream runs what was asked of it, in order; an op starts when its
    stream is free and the ops of other streams that it comes after have ended. A launch starts
    when its channel is free and all that was asked before it of the streams of its inputs, and of
    its home, has ended. A wait holds the streams of the bucket's consumers and its home until the
    launch has ended. Copies run on the home: the stream of the first consumer of compute, else of
    the first producer, else of the first op. Memory is that of model section 10, half open: what
    ends at an instant is freed before what starts then. What a launch reads is held until it has
    ended, or until the wait for it has, as :attr:`ProgramProblem.inputs_held` says.

    Parameters
    ----------
    program
        One without faults (:func:`solver.programs.check.program_faults`).

    Notes
    -----
    O(steps + edges + buffers log buffers).
    """
    machine = Machine(
        problem, program, 0.0, problem.graph.durations, partial(launch_time, problem), max
    )
    spans = [HostSpan(*machine.take(do, what)) for do, what in program.steps]
    time = max((span.end for span in spans), default=0.0)
    holdings = _holdings(problem, program, spans, time)
    profile, peak, at = _profile(holdings)
    return ProgramRun(time, tuple(spans), holdings, profile, peak, at)


def known_run(problem: ProgramProblem, program: Program) -> ProgramRun:
    """Return what :func:`execute` does, once for a problem and others that share its ``runs``."""
    runs: dict[Program, ProgramRun] = problem.memo.get("runs", {})
    if program not in runs:
        runs[program] = execute(problem, program)
    return runs[program]


def _holdings(
    problem: ProgramProblem, program: Program, spans: list[HostSpan], time: float
) -> tuple[Holding, ...]:
    """Find from when to when buffers and copies are live."""
    graph = problem.graph
    at: dict[str, dict[int, HostSpan]] = {do: {} for do in (COMPUTE, PACK, LAUNCH, WAIT, UNPACK)}
    for (do, what), span in zip(program.steps, spans, strict=True):
        at[do][what] = span
    writes = {graph.ops[i].id: span for i, span in at[COMPUTE].items()}
    reads = dict(writes)
    copies = []
    for b, members in enumerate(program.buckets):
        sent, is_one = at[LAUNCH][b], len(members) == 1
        over = sent.end if is_one else at[UNPACK][b].end
        read = at[WAIT][b].end if problem.inputs_held == TO_WAIT else sent.end
        for i in members:
            reads[graph.ops[i].id] = HostSpan(sent.start, read)
            writes[graph.ops[i].id] = HostSpan(sent.start, over)
        if not is_one:
            sizes, name = copies_of(problem, members), bucket_id(b)
            packed = Holding(f"{name} packed", sizes.packed_bytes, at[PACK][b].start, read)
            copies += [packed, Holding(f"{name} unpacked", sizes.unpacked_bytes, sent.start, over)]
    buffers = []
    for buffer in graph.buffers:
        own = HostSpan(0.0, 0.0) if buffer.written_by is None else writes[buffer.written_by]
        ends = (reads[reader].end for reader in buffer.read_by)
        end = time if buffer.kept else max([own.end, *ends])
        buffers.append(Holding(buffer.id, buffer.bytes, own.start, end))
    return (*buffers, *copies)


def bucket_id(place: int) -> str:
    """Name a bucket by its place in the program."""
    return f"bucket{place + 1}"


def _profile(holdings: tuple[Holding, ...]) -> tuple[tuple[tuple[float, int], ...], int, float]:
    """Return the memory over time, its most, and when that is first reached."""
    changes: dict[float, int] = {0.0: 0}
    for each in holdings:
        if each.end_us > each.start_us:
            changes[each.start_us] = changes.get(each.start_us, 0) + each.bytes
            changes[each.end_us] = changes.get(each.end_us, 0) - each.bytes
    profile: list[tuple[float, int]] = []
    level, peak, at = 0, 0, 0.0
    for when in sorted(changes):
        level += changes[when]
        if level > peak:
            peak, at = level, when
        if not profile or profile[-1][1] != level:
            profile.append((when, level))
    return tuple(profile), peak, at
