"""A program that was executed, in the fields of answers."""

from collections.abc import Sequence

from app.schemas.explanations import CostWarning
from app.schemas.programs import MemoryUse
from app.schemas.schedules import BucketOut
from app.services.program_problems import ASSUMED_COPY_GBPS
from solver.graph import Graph
from solver.planning.result import Part
from solver.programs.execute import bucket_id
from solver.programs.explicit import ProgramStep
from solver.programs.problem import copies_of
from solver.programs.program import COMPUTE as ASK_COMPUTE
from solver.programs.program import LAUNCH
from solver.programs.result import Executed, RoomierPlan

#: How much of what is held at the peak is listed.
_HELD = 20


def buckets_of(done: Executed) -> list[BucketOut]:
    """Write the buckets, in the order of the program."""
    launches = done.launches
    problem, graph = done.problem, done.problem.graph
    ended, tails = _ends(done), _tails(graph)
    found = []
    for b, members in enumerate(done.program.buckets):
        first, copies = graph.ops[members[0]], copies_of(problem, members)
        found.append(
            BucketOut(
                id=bucket_id(b),
                tensors=[graph.ops[i].id for i in members],
                bytes=sum(graph.ops[i].bytes or 0 for i in members),
                kind=first.kind,
                channel=first.channel,
                release_us=max((ended[j] for i in members for j in graph.preds[i]), default=0.0),
                tail_us=max(tails[i] for i in members),
                start_us=launches[b].start,
                end_us=launches[b].end,
                pack_us=copies.pack_us,
                unpack_us=copies.unpack_us,
            )
        )
    return found


def _ends(done: Executed) -> list[float]:
    """Return when each op has ended; a collective with its wait, or its unpacking."""
    ended = [0.0] * len(done.problem.graph.ops)
    for (do, what), span in zip(done.program.steps, done.run.spans, strict=True):
        for i in (what,) if do == ASK_COMPUTE else done.program.buckets[what]:
            ended[i] = max(ended[i], span.end)
    return ended


def _tails(graph: Graph) -> list[float]:
    """Return the longest path of compute after each op [us]."""
    tails = [0.0] * len(graph.ops)
    for i in reversed(graph.order):
        tails[i] = max((tails[j] + graph.durations[j] for j in graph.succs[i]), default=0.0)
    return tails


def parts_of(done: Executed) -> list[Part]:
    """Return the launches in the order of the program."""
    graph, buckets = done.problem.graph, done.program.buckets
    launches = done.launches
    return [
        Part(
            bucket=bucket_id(b),
            start_us=launches[b].start,
            end_us=launches[b].end,
            offset_bytes=0,
            bytes=sum(graph.ops[i].bytes or 0 for i in buckets[b]),
        )
        for do, b in done.program.steps
        if do == LAUNCH
    ]


def steps_of(done: Executed) -> list[ProgramStep]:
    """Write what the host asks for, in order."""
    graph, program = done.problem.graph, done.program
    return [
        ProgramStep(do, graph.ops[what].id if do == ASK_COMPUTE else bucket_id(what))
        for do, what in program.steps
    ]


def memory_of(done: Executed, more: Sequence[RoomierPlan] = ()) -> MemoryUse:
    """Write the memory over time, and what more of it would save."""
    run, limit = done.run, done.problem.limits.memory_bytes
    held = (each for each in run.holdings if each.start_us <= run.peak_us < each.end_us)
    largest = sorted((each for each in held if each.bytes), key=lambda each: -each.bytes)
    return MemoryUse(
        inputs_held=done.problem.inputs_held,
        limit_bytes=limit,
        peak_us=run.peak_us,
        profile=list(run.profile),
        at_peak=largest[:_HELD],
        more=list(more) or None,
    )


def assumed_of(copy_gbps: float | None) -> list[CostWarning]:
    """Say what the program rests on that the request does not say."""
    if copy_gbps is not None:
        return []
    detail = (
        f"Copies into and out of buckets are taken to run at {ASSUMED_COPY_GBPS:,.0f} Gbit/s "
        "(3.35 TB/s, the memory of an H100): the request does not say copy_gbps."
    )
    where = "/options/copy_gbps"
    return [CostWarning(pointer=where, code="copy_speed_assumed", detail=detail)]
