"""A program for a reader: time, proof, memory, and how it begins."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.cli.rendering.channel_use import channel_rows
from app.cli.rendering.clusters import channels, cost, place
from app.cli.rendering.doubts import off_calibration, robust
from app.cli.rendering.explanations import cuts, recorded, rests_on, warnings, what_if
from app.cli.rendering.figures import counted, percent
from app.cli.rendering.first_screen import first_of_simulation, first_screen
from app.cli.rendering.headlines import headline
from app.cli.rendering.page import Line, page
from app.cli.rendering.proofs import proven
from app.cli.rendering.reports import source
from app.cli.rendering.tables import shortened, table, time, times
from app.schemas.plans import BaselineOut, BoundOut, PlanAnswer, TraceAnswer
from app.schemas.programs import FrontPoint, MemoryUse
from solver.bounds.kinds import BESIDE, LOAD, reason
from solver.glossary import PROVEN, label
from solver.graph import NETWORK
from solver.wording import memory_size, ms

if TYPE_CHECKING:
    from app.schemas.simulations import SimulationAnswer

    #: An answer that has a program.
    _Answer = PlanAnswer | SimulationAnswer

#: How many buckets, holdings and steps are listed.
_BUCKETS, _HELD, _STEPS = 8, 5, 12

#: How many launches that start later than they could are explained.
_LATE = 3

#: Until when what a launch reads is held.
HELD_TO = {
    "wait": "what launches read is held to their waits",
    "launch": "what launches read is held to their ends",
}


def program(answer: PlanAnswer, name: str) -> str:
    """Write a program as a page of text, and what a reader of traces dropped and assumed."""
    report = answer.report if isinstance(answer, TraceAnswer) else None
    return page(
        cuts(answer.warnings),
        first_screen(answer.brief, answer.critical_path),
        _head(answer, name),
        headline(answer.headline),
        rests_on(answer.evidence),
        _times(answer),
        off_calibration(answer.off_calibration),
        robust(answer.robust),
        _why(answer),
        _front(answer.front or []),
        _memory(answer.memory) if answer.memory else [],
        _buckets(answer),
        _steps(answer),
        source(report),
        warnings(answer.warnings),
    )


def simulated(answer: "SimulationAnswer", name: str) -> str:
    """Write a simulated program as a page of text."""
    title = "the plan given" if answer.policy is None else answer.policy.policy
    return page(
        first_of_simulation(
            label(title),
            answer.iteration_time_us,
            answer.exposed_us,
            answer.limited_by,
            answer.sensitivities,
            answer.critical_path,
        ),
        _head(answer, name),
        rests_on(answer.evidence),
        _simulated_times(answer),
        _why(answer),
        _memory(answer.memory) if answer.memory else [],
        _buckets(answer),
        _steps(answer),
        warnings(answer.warnings),
    )


def _head(answer: "_Answer", name: str) -> Iterator[str]:
    cluster = answer.request.cluster
    used = {bucket.channel for bucket in answer.buckets}
    yield place(name, cluster, used)
    if NETWORK in used:
        yield cost(cluster)
    kept = {key: body for key, body in cluster.channels.items() if key in used}
    yield from channels(cluster.model_copy(update={"channels": kept}))


def _times(answer: PlanAnswer) -> Iterator[Line]:
    yield "Time of one iteration"
    remark = _and(_peak(answer.peak_bytes), proven(answer))
    limit = answer.memory.limit_bytes if answer.memory else None
    rows = [
        *recorded(answer.evidence),
        *(_compared(each, limit) for each in answer.baselines),
        time("this program", answer.iteration_time_us, remark),
        time("lower bound", answer.lower_bound_us, _proof(answer)),
        time("compute alone", answer.compute_time_us, "with free communication"),
    ]
    shares = {"gap to the lower bound": answer.gap, "communication hidden": answer.overlap}
    rows += [
        (what, f"{100 * share:.2f}", "%", "") for what, share in shares.items() if share is not None
    ]
    yield times(rows)


def _simulated_times(answer: "SimulationAnswer") -> Iterator[Line]:
    policy = answer.policy
    what = "the program given" if policy is None else label(policy.policy)
    yield "Time of one iteration"
    rows = [
        *recorded(answer.evidence),
        time(what, answer.iteration_time_us, _peak(answer.peak_bytes)),
        time("compute alone", answer.compute_time_us, "with free communication"),
        time("exposed", answer.exposed_us, "what communication and copies add"),
    ]
    rows += channel_rows(answer)
    yield times(rows)


def _compared(baseline: BaselineOut, limit: int | None) -> tuple[str, str, str, str]:
    title = label(baseline.policy)
    if baseline.iteration_time_us is None:
        return title, "-", "", "makes no program of this graph"
    faster = "" if baseline.speedup is None else f"this is {baseline.speedup:.3f}x as fast"
    over = "" if limit is None or (baseline.peak_bytes or 0) <= limit else "above the limit"
    return time(title, baseline.iteration_time_us, _and(_peak(baseline.peak_bytes), over, faster))


def _proof(answer: PlanAnswer) -> str:
    """Say why no program is faster."""
    bound = answer.bound
    return reason(
        bound.kind,
        _these(bound),
        ms(bound.release_us or 0),
        ms(bound.tail_us or 0),
    )


def _these(bound: BoundOut) -> str:
    """Name the ops of a bound, or say how many."""
    if bound.kind in {LOAD, BESIDE}:
        return counted(len(bound.tensors), "op")
    return " and ".join(bound.tensors)


def _why(answer: "_Answer") -> Iterator[Line]:
    """Say what limits the program, and which launches wait longest for what is not their input."""
    if answer.summary is None:
        yield "Too many ops to explain"
        return
    yield answer.summary
    if (other := answer.what_if) is not None:
        yield from what_if(other, answer.request.what_if, _peak(other.peak_bytes))
    late = [each for each in answer.launch_reasons or [] if each.moved is not None]
    late.sort(key=lambda each: (each.why == "channel", each.could_start_us - each.start_us))
    yield from (f"  {each.text}" for each in late[:_LATE])


def _front(front: list[FrontPoint]) -> Iterator[Line]:
    if not front:
        return
    yield "Time against memory; the rest of this page is about the largest limit with a plan"
    rows = [
        [
            memory_size(each.memory_limit_bytes),
            "-" if each.iteration_time_us is None else ms(each.iteration_time_us),
            "-" if each.lower_bound_us is None else ms(each.lower_bound_us),
            "-" if each.peak_bytes is None else memory_size(each.peak_bytes),
            PROVEN[each.status] if each.status else each.why_not or "",
        ]
        for each in front
    ]
    heads = ["limit", "time", "bound", "peak", "status"]
    yield table(heads, rows, widths=(10, 12, 12, 10), has_remarks=True)


def _memory(memory: MemoryUse) -> Iterator[Line]:
    peak = max((size for _, size in memory.profile), default=0)
    limit = memory.limit_bytes
    most = (
        "no limit"
        if limit is None
        else f"limit {memory_size(limit)}, {percent(peak / limit)} of it"
    )
    held_to = HELD_TO[memory.inputs_held]
    yield f"Memory: {memory_size(peak)} at {ms(memory.peak_us)}; {most}; {held_to}"
    held = memory.at_peak[:_HELD]
    if held:
        names = shortened([each.name for each in held])
        rows = [
            [name, memory_size(each.bytes), ms(each.start_us), ms(each.end_us)]
            for name, each in zip(names, held, strict=True)
        ]
        yield table(["held then", "size", "from", "to"], rows)


def _buckets(answer: "_Answer") -> Iterator[Line]:
    tensors = sum(len(bucket.tensors) for bucket in answer.buckets)
    copies = sum((each.pack_us or 0) + (each.unpack_us or 0) for each in answer.buckets)
    yield (
        f"Send {counted(tensors, 'collective')} in {counted(len(answer.buckets), 'bucket')}; "
        f"copies take {ms(copies)}"
    )
    listed = sorted(answer.buckets, key=lambda bucket: -bucket.bytes)[:_BUCKETS]
    if not listed:
        return
    rows = [
        [
            each.id,
            f"{len(each.tensors)}",
            f"{each.bytes / 1e6:.3f}",
            ms(each.start_us or 0),
            ms(each.end_us or 0),
            f"{each.kind}, {each.channel}",
        ]
        for each in listed
    ]
    heads = ["largest", "members", "MB", "start", "end", "kind, channel"]
    yield table(heads, rows, has_remarks=True)


def _steps(answer: "_Answer") -> Iterator[Line]:
    steps = answer.program or []
    counts = Counter(step.do for step in steps)
    kinds = ", ".join(f"{count} {do}" for do, count in counts.items())
    yield f"Program of {counted(len(steps), 'step')}: {kinds}"
    yield from (f"  {step.do} {step.id}" for step in steps[:_STEPS])
    if len(steps) > _STEPS:
        yield f"  ... and {len(steps) - _STEPS} more (--json lists them all)"


def _peak(peak_bytes: int | None) -> str:
    return "" if not peak_bytes else f"peak {memory_size(peak_bytes)}"


def _and(*remarks: str) -> str:
    return ", ".join(filter(None, remarks))
