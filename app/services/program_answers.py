"""A planned program as an answer."""

from app import VERSION
from app.schemas.explanations import CostWarning
from app.schemas.plan_options import OptionsBody
from app.schemas.plans import (
    Baseline,
    Bound,
    PlanAnswer,
    PlanRequest,
    PlanRequestOut,
    Proof,
    WhatIf,
)
from app.schemas.problem import Problem, graph_sha256
from app.schemas.programs import FrontPoint, Holding, MemoryUse, ProgramStep, RoomierPlan
from app.schemas.schedules import Bucket, Part, Schedule
from app.services.program_explanations import (
    explained_program,
    launch_reasons_of,
    path_times_of,
)
from app.services.program_problems import (
    ASSUMED_COPY_GBPS,
    policies_of,
)
from app.services.warnings import launched, search_of, units_of, warnings_of
from solver.graph import Graph
from solver.programs.execute import Run, Span, bucket_id
from solver.programs.explanation.explain import ProgramExplanation
from solver.programs.policies import POLICIES
from solver.programs.problem import copies_of
from solver.programs.program import COMPUTE as ASK_COMPUTE
from solver.programs.program import LAUNCH, Program
from solver.programs.replanned import MoreMemory
from solver.programs.result import OPTIMAL, ProgramPlan
from solver.programs.search.flat import is_one_stream
from solver.units import same

#: How much of what is held at the peak is listed.
_HELD = 20


def program_answer(
    problem: Problem[PlanRequest],
    planned: ProgramPlan,
    why: ProgramExplanation | None,
    front: list[FrontPoint] | None,
    more: tuple[MoreMemory, ...],
    changed: ProgramPlan | None,
    runtime_s: float,
) -> PlanAnswer:
    """Write a program as the answer to a request."""
    request, graph = problem.request, problem.graph
    run, bound = planned.run, planned.bound
    total, alone = run.iteration_time, compute_time(graph)
    launches = launches_of(planned)
    buckets, parts = _buckets(planned, launches), _parts(planned, launches)
    named = {"baselines": list(policies_of(request))}
    busy = sum(span.end - span.start for span in launches)
    return PlanAnswer.of(
        explained_program(planned, why, more, front or ()),
        runtime_s=runtime_s,
        status=planned.status,
        iteration_time_us=total,
        compute_time_us=alone,
        lower_bound_us=bound.value_us,
        gap=max(0.0, total / bound.value_us - 1) if bound.value_us else None,
        scaling_factor=alone / total if total else None,
        exposed_us=max(0.0, total - alone),
        overlap=min(max(1 - (total - alone) / busy, 0.0), 1.0) if busy else None,
        ideal_us=None,
        buckets=buckets,
        schedule=Schedule(parts=parts, slot_us=None, slots=[], slots_iteration_time_us=None),
        proof=Proof(critical_buckets=[], release_us=None, work_us=None, tail_us=None),
        bound=Bound(
            kind=bound.kind,  # type: ignore[arg-type]
            tensors=list(bound.ops),
            release_us=bound.release_us,
            tail_us=bound.tail_us,
        ),
        fused_graph=None,
        baselines=[
            Baseline(
                policy=each.policy,
                iteration_time_us=each.iteration_time_us,
                speedup=_ratio(each.iteration_time_us, total),
                headroom=_headroom(each.iteration_time_us, bound.value_us),
                peak_bytes=each.peak_bytes,
            )
            for each in planned.baselines
        ],
        program=_steps(planned.problem.graph, planned.program),
        peak_bytes=run.peak_bytes,
        memory=_memory(run, planned.problem.limits.memory_bytes, more),
        path_times=None if why is None else path_times_of(why),
        launch_reasons=None if why is None else launch_reasons_of(planned, why),
        front=front,
        what_if=None if changed is None else _what_if(planned, changed),
        warnings=([] if graph.buffers else units_of(graph))
        + _assumed(request)
        + _unsearched(planned)
        + search_of("joint", planned.status, is_cut_short=planned.is_cut_short)
        + warnings_of(request.cluster, launched(buckets, parts)),
        request=PlanRequestOut.of(
            request,
            options=request.options.model_copy(
                update={"baselines": OptionsBody.model_validate(named).baselines}
            ),
            graph_sha256=graph_sha256(graph),
        ),
        version=VERSION,
    )


def compute_time(graph: Graph) -> float:
    """Return the longest path of compute, and at least the load of each stream [us]."""
    ends = [0.0] * len(graph.ops)
    loads: dict[str, float] = {}
    for i in graph.order:
        ends[i] = max((ends[j] for j in graph.preds[i]), default=0.0) + graph.durations[i]
        if (stream := graph.ops[i].stream) is not None:
            loads[stream] = loads.get(stream, 0.0) + graph.durations[i]
    return max([*ends, *loads.values()], default=0.0)


def launches_of(planned: ProgramPlan) -> list[Span]:
    """Return when each bucket was launched, in the order of the buckets."""
    found = [Span(0.0, 0.0)] * len(planned.program.buckets)
    for (do, what), span in zip(planned.program.steps, planned.run.spans, strict=True):
        if do == LAUNCH:
            found[what] = span
    return found


def _buckets(planned: ProgramPlan, launches: list[Span]) -> list[Bucket]:
    problem, graph = planned.problem, planned.problem.graph
    ended, tails = _ends(planned), _tails(graph)
    found = []
    for b, members in enumerate(planned.program.buckets):
        first, copies = graph.ops[members[0]], copies_of(problem, members)
        found.append(
            Bucket(
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


def _ends(planned: ProgramPlan) -> list[float]:
    """Return when each op has ended; a collective with its wait, or its unpacking."""
    ended = [0.0] * len(planned.problem.graph.ops)
    for (do, what), span in zip(planned.program.steps, planned.run.spans, strict=True):
        for i in (what,) if do == ASK_COMPUTE else planned.program.buckets[what]:
            ended[i] = max(ended[i], span.end)
    return ended


def _tails(graph: Graph) -> list[float]:
    """Return the longest path of compute after each op [us]."""
    tails = [0.0] * len(graph.ops)
    for i in reversed(graph.order):
        tails[i] = max((tails[j] + graph.durations[j] for j in graph.succs[i]), default=0.0)
    return tails


def _parts(planned: ProgramPlan, launches: list[Span]) -> list[Part]:
    """Return the launches in the order of the program."""
    graph, buckets = planned.problem.graph, planned.program.buckets
    return [
        Part(
            bucket=bucket_id(b),
            start_us=launches[b].start,
            end_us=launches[b].end,
            offset_bytes=0,
            bytes=sum(graph.ops[i].bytes or 0 for i in buckets[b]),
        )
        for do, b in planned.program.steps
        if do == LAUNCH
    ]


def _steps(graph: Graph, program: Program) -> list[ProgramStep]:
    return [
        ProgramStep(do=do, id=graph.ops[what].id if do == ASK_COMPUTE else bucket_id(what))  # type: ignore[arg-type]
        for do, what in program.steps
    ]


def _what_if(planned: ProgramPlan, changed: ProgramPlan) -> WhatIf:
    alone, total = compute_time(changed.problem.graph), changed.run.iteration_time
    return WhatIf(
        iteration_time_us=total,
        compute_time_us=alone,
        lower_bound_us=changed.bound.value_us,
        scaling_factor=alone / total if total else None,
        gain_us=planned.run.iteration_time - total,
        peak_bytes=changed.run.peak_bytes,
    )


def _memory(run: Run, limit: int | None, more: tuple[MoreMemory, ...]) -> MemoryUse:
    held = [each for each in run.holdings if each.bytes and each.start <= run.peak_us < each.end]
    held.sort(key=lambda each: -each.bytes)
    return MemoryUse(
        limit_bytes=limit,
        peak_us=run.peak_us,
        profile=list(run.profile),
        at_peak=[
            Holding(name=each.name, bytes=each.bytes, start_us=each.start, end_us=each.end)
            for each in held[:_HELD]
        ],
        more=[RoomierPlan.of(each) for each in more] or None,
    )


def _ratio(value: float | None, base: float) -> float | None:
    return None if value is None or not base else value / base


def _headroom(value: float | None, bound: float) -> float | None:
    if value is None or not bound:
        return None
    return 0.0 if same(value, bound) else value / bound - 1


def _unsearched(planned: ProgramPlan) -> list[CostWarning]:
    """Say that a program is only the best of some rules."""
    if planned.status == OPTIMAL or is_one_stream(planned.problem):
        return []
    detail = (
        "Programs are searched where all compute is on one stream; here it is on several, or on "
        "none, and the program is the best of the rules " + ", ".join(POLICIES) + "."
    )
    return [CostWarning(pointer="/graph/ops", code="not_searched", detail=detail)]


def _assumed(request: PlanRequest) -> list[CostWarning]:
    """Say what the program rests on that the request does not say."""
    if request.options.copy_gbps is not None:
        return []
    detail = (
        f"Copies into and out of buckets are taken to run at {ASSUMED_COPY_GBPS:,.0f} Gbit/s "
        "(3.35 TB/s, the memory of an H100): the request does not say copy_gbps."
    )
    where = "/options/copy_gbps"
    return [CostWarning(pointer=where, code="copy_speed_assumed", detail=detail)]
