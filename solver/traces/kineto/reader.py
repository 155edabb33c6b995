"""From files to a graph: choose a rank and a step, size its collectives, build its iteration."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median_low

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import ALL_REDUCE, BROADCAST, COMPUTE, Graph, build
from solver.traces.channel_times import overlapping_said
from solver.traces.chrome import last_start
from solver.traces.cut_files import whole_steps
from solver.traces.exit_check import TraceStep, checked, is_kernel
from solver.traces.files import beginning, places_of
from solver.traces.kineto.arrivals import RankFile, arrivals_of
from solver.traces.kineto.categories import foreign_said, unplaced_said, untimed_said
from solver.traces.kineto.channels import group_sizes_said, name_channels
from solver.traces.kineto.clocks import contradictions
from solver.traces.kineto.comparison import (
    RankComparison,
    comparison_said,
    ranks_said,
)
from solver.traces.kineto.events import KinetoFile, parse
from solver.traces.kineto.iteration import RankStep, iteration
from solver.traces.kineto.known_works import NONE_KNOWN
from solver.traces.kineto.payload_sizes import article, is_between_stages, kind_of
from solver.traces.kineto.recording import RankRecording
from solver.traces.kineto.sized_collectives import (
    RECORDING,
    SizedCollective,
    channel_times,
    size_of,
    sized,
    undisturbed_times,
)
from solver.traces.kineto.sorting import recording_of
from solver.traces.kineto.statements import assumptions, losses, unread_said, warnings
from solver.traces.kineto.steps import ProfiledStep, steps
from solver.traces.report import report_of
from solver.traces.samples import samples_of
from solver.traces.spans import Span
from solver.traces.steps import check_number, choose_step
from solver.traces.trace import Sample, Trace, TraceChannel, TraceOptions, as_trace_faults
from solver.traces.unsized import total_unsized

FORMAT = "kineto"

#: Kinds that carry the same bytes on each rank.
_SAME_BYTES = {ALL_REDUCE, BROADCAST}
_EVENT = re.compile(rb'"ph"\s*:\s*"')


def looks_like(content: bytes) -> bool:
    """Tell whether a file's first bytes are those of a Chrome trace."""
    head = beginning(content)
    if head.startswith(b"["):
        return bool(_EVENT.search(head))
    is_named = b'"traceEvents"' in head or b'"deviceProperties"' in head
    return head.startswith(b"{") and (is_named or bool(_EVENT.search(head)))


@dataclass(frozen=True, slots=True)
class _Rank:
    """One file."""

    recording: RankRecording
    steps: list[ProfiledStep]
    outside: int
    channels: dict[str, TraceChannel]
    number: int | None
    cut: tuple[str, ...]
    foreign: str
    launches: int
    on_host: tuple[str, ...]
    odd: tuple[str, ...]
    unsound: tuple[str, ...]


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read one rank, or several ranks of the same run, and build one iteration.

    The step is the one asked for, as the first file counts, or the one of median length of those
    with collectives; a step's length is the median over the ranks, so their order changes nothing.
    Of
    several ranks the graph is that of the one asked for, or of the one that waited least inside
    its collectives, since the others waited for it there. The recorded times are that rank's own;
    those of the samples are the least over the ranks.

    Raises
    ------
    InvalidTrace
        When a file is no trace, there is no such rank or step, no collective, none of a known
        size, the ranks' collectives differ, or the graph would break a rule, as by a time of years
        or by two parameters of one name.
    """
    places = places_of(files)
    parsed = (parse(file, place) for file, place in zip(files, places, strict=True))
    return read_parsed(parsed, places, options)


def read_parsed(files: Iterable[KinetoFile], places: Sequence[str], options: TraceOptions) -> Trace:
    """Read files as :func:`read` does, given their events; ``places`` are the pointers to them.

    Raises
    ------
    InvalidTrace
        As there.
    """
    check_number(options.rank or 0, len(places), "Files")
    ranks = [_rank(file) for file in files]
    if faults := list(_twice([rank.number for rank in ranks], places)):
        raise InvalidTrace(faults)
    index = _choose(ranks, options.step)
    parts = _same_step(ranks, index, places)
    compared = _compared(parts)
    chosen = compared.slowest if options.rank is None else options.rank
    rank, step, place = ranks[chosen], parts[chosen], places[chosen]
    times = compared.times[chosen]
    collectives, notes = sized(rank.recording, step.collectives, times, rank.channels, place)
    it, graph = _built(rank, step, collectives, options, place)
    ran = graph
    if not it.is_barrier:  # as it ran, its optimizer waited for all gradients as PyTorch's does
        _, ran = _built(rank, step, collectives, options, place, is_barrier=True)
    used = dict.fromkeys(op.channel for op in graph.ops if op.kind != COMPUTE)
    channels = tuple(rank.channels[name] for name in used if name is not None)
    report = report_of(
        FORMAT,
        graph,
        steps=len(rank.steps),
        step=index,
        dropped=losses(rank.recording, rank.outside),
        assumed=(
            *assumptions(rank.recording, step, channels),
            *ranks_said(compared, chosen),
            *it.assumed,
        ),
        warnings=(
            *(said for each in ranks for said in each.cut),
            *it.warnings,
            *notes,
            *unread_said(rank.recording),
            *group_sizes_said(rank.recording, [step]),
            *dict.fromkeys(said for each in ranks for said in each.odd),
            *overlapping_said(_by_channel(rank.steps)),
            *warnings(rank.recording, channels, len(places)),
        ),
        unsized=total_unsized(
            (one.recorded.kernel.name or "", one.kind, one.time)
            for one in collectives
            if not one.bytes
        ),
        measured_us=step.length,
        arrivals=arrivals_of([RankFile(r.recording, r.steps, r.channels, r.number) for r in ranks]),
    )
    samples = tuple(_samples(ranks, chosen))
    trace = Trace(graph, report, tuple(it.measured), channels, samples)
    explain = partial(comparison_said, waited=compared.waited[chosen])
    return checked(
        trace,
        TraceStep(explain, ran),
        on_host=rank.on_host,
        unsound=tuple(dict.fromkeys(said for each in ranks for said in each.unsound)),
    )


def _by_channel(steps: Iterable[ProfiledStep]) -> dict[str, list[Span]]:
    channels: dict[str, list[Span]] = {}
    for step in steps:
        for one in step.collectives:
            channels.setdefault(one.work.stream, []).append(one.work)
    return channels


def _on_host(recording: RankRecording) -> tuple[str, ...]:
    """Name the launches of libraries of GPUs, where there is no kernel but annotations alone."""
    notes = () if recording.is_gpu else (one.kernel.name or "" for one in recording.collectives)
    return tuple(filter(is_kernel, notes))


def _rank(file: KinetoFile) -> _Rank:
    events, job, cut, unplaced, known = file
    known = known or NONE_KNOWN
    recording = recording_of(events, job, known)
    split, outside = steps(recording)
    said: list[str] = []
    if cut is not None:
        split, said = whole_steps(split, [step.end for step in split], cut, last_start(events))
    launches, on_host = len(recording.collectives), _on_host(recording)
    recording.collectives.clear()  # the steps have theirs
    channels = name_channels(recording, split)
    shortest = min((step.length for step in split), default=0.0)
    odd: list[str] = []
    unsound = [*unplaced_said(unplaced), *untimed_said(events)]
    for one in contradictions(events, known):
        (unsound if one.is_much(shortest) else odd).append(one.said)
    return _Rank(
        recording,
        split,
        outside,
        channels,
        job.rank,
        tuple(said),
        foreign_said(events),
        launches,
        on_host,
        tuple(odd),
        tuple(unsound),
    )


def _twice(numbers: Sequence[int | None], places: Sequence[str]) -> Iterator[Fault]:
    """Refuse two files of one rank: of two runs, or of two times of one."""
    for i, number in enumerate(numbers):
        if number is not None and number in numbers[:i]:
            first = numbers.index(number) + 1
            detail = f"This is rank {number}, as file {first} is: give each rank of one run once."
            yield Fault(places[i], FaultCode.RANKS_DIFFER, detail)


def _built(
    rank: _Rank,
    step: ProfiledStep,
    collectives: Sequence[SizedCollective],
    options: TraceOptions,
    place: str,
    *,
    is_barrier: bool = False,
) -> tuple[RankStep, Graph]:
    """Build a step, and its graph."""
    it = iteration(rank.recording, step, collectives, options.parameters, is_barrier=is_barrier)
    with as_trace_faults(place):
        return it, build(options.name, it.ops)


def _compared(parts: Sequence[ProfiledStep]) -> RankComparison:
    return RankComparison(tuple(tuple(channel_times(part.collectives)) for part in parts))


def _samples(ranks: Sequence[_Rank], chosen: int) -> Iterator[Sample]:
    """Yield the launches of all steps; of steps that all ranks have alike the least times.

    A launch that began on every rank while another held its channel tells no cost and is left out.
    """
    rank = ranks[chosen]
    numbered = [{part.number: part for part in other.steps} for other in ranks]
    for step in rank.steps:
        kinds = [kind_of(collective)[0] for collective in step.collectives]
        same = (parts[step.number] for parts in numbered if step.number in parts)
        others = [part for part in same if part is not step]
        alike = [step]
        alike += [part for part in others if [kind_of(c)[0] for c in part.collectives] == kinds]
        times = zip(*(undisturbed_times(part.collectives) for part in alike), strict=True)
        for collective, of_ranks in zip(step.collectives, times, strict=True):
            kind, size, _ = size_of(collective, rank.channels, rank.recording.workers)
            yield from samples_of(collective.work.stream, kind, size, of_ranks)


def _choose(ranks: Sequence[_Rank], step: int | None) -> int:
    """Return the index of the step to read, as the first rank counts."""
    rank = ranks[0]
    if not rank.launches:
        detail = (
            "No collective found: the trace is of one worker, or its collectives were not "
            f"recorded. {RECORDING} on a run with more workers."
        )
        detail = " ".join([*rank.cut, rank.foreign or detail, *unread_said(rank.recording)])
        raise InvalidTrace([Fault("", FaultCode.NO_COLLECTIVE, detail)])
    others = [{one.number: one for one in reversed(other.steps)} for other in ranks[1:]]
    lengths = {i: one.length for i, one in enumerate(rank.steps) if one.collectives}
    common = {
        i: median_low([length, *(parts[rank.steps[i].number].length for parts in others)])
        for i, length in lengths.items()
        if all(_launches(parts, rank.steps[i].number) for parts in others)
    }
    able = common or lengths  # where no step is common to all, the first file's says what differs
    index = choose_step(step, [able.get(i) for i in range(len(rank.steps))])
    if index not in lengths:
        no = "No step launched a" if step is None else f"Step {step} launched no"
        raise InvalidTrace([Fault("", FaultCode.NO_COLLECTIVE, f"{no} collective.")])
    return index


def _launches(parts: Mapping[int | None, ProfiledStep], number: int | None) -> bool:
    return number in parts and bool(parts[number].collectives)


def _same_step(ranks: Sequence[_Rank], index: int, places: Sequence[str]) -> list[ProfiledStep]:
    """Return each rank's step of the same number; their collectives must be the same."""
    first = ranks[0].steps[index]
    kinds = [kind_of(collective)[0] for collective in first.collectives]
    parts = [first]
    for rank, place in zip(ranks[1:], places[1:], strict=True):
        same = [step for step in rank.steps if step.number == first.number]
        if not same:
            detail = f"This rank has no ProfilerStep#{first.number}, the first file has."
            detail = " ".join([*rank.cut, detail])
            raise InvalidTrace([Fault(place, FaultCode.RANKS_DIFFER, detail)])
        if [kind_of(collective)[0] for collective in same[0].collectives] != kinds:
            stages = any(map(is_between_stages, [*first.collectives, *same[0].collectives]))
            why = (
                "they are stages of a pipeline, which send to each other: give the ranks of one "
                "stage"
                if stages
                else "not ranks of one job"
            )
            detail = (
                f"The collectives of this rank's step ({len(same[0].collectives)}) and of the "
                f"first file's ({len(kinds)}) differ: {why}."
            )
            raise InvalidTrace([Fault(place, FaultCode.RANKS_DIFFER, detail)])
        if detail := _differing_bytes((ranks[0], first), (rank, same[0])):
            raise InvalidTrace([Fault(place, FaultCode.RANKS_DIFFER, detail)])
        parts.append(same[0])
    return parts


def _differing_bytes(first: tuple[_Rank, ProfiledStep], other: tuple[_Rank, ProfiledStep]) -> str:
    """Name the first collective whose bytes must be the same on all ranks and are not; else empty.

    Those of gathers, scatters and exchanges may be uneven. What a transfer between stages of a
    pipeline is taken for does not matter.
    """
    pairs = zip(first[1].collectives, other[1].collectives, strict=True)
    for number, pair in enumerate(pairs, 1):
        (kind, one, _), (_, two, _) = (
            size_of(collective, rank.channels, rank.recording.workers)
            for collective, (rank, _) in zip(pair, (first, other), strict=True)
        )
        if one is None or two is None or one == two or kind not in _SAME_BYTES:
            continue
        if not any(map(is_between_stages, pair)):
            return (
                f"Collective {number} of this rank's step, {article(kind)} {kind}, is of {two:,} "
                f"bytes, in the first file of {one:,}: not ranks of one job."
            )
    return ""
