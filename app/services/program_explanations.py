"""Why a program takes as long as it does, and what more memory or other ops would change."""

from collections.abc import Sequence
from itertools import pairwise

from app.schemas.explanations import UNEXPLAINED, ExplainedAnswer
from app.schemas.programs import FrontPoint, LaunchReasonOut
from app.services.graphs import is_large
from solver.explanation.critical import PathStep
from solver.explanation.sensitivity import Sensitivity
from solver.programs.execute import bucket_id
from solver.programs.explanation.critical import ProgramPathStep
from solver.programs.explanation.explain import ProgramExplanation, explain_program
from solver.programs.explanation.sentences import (
    above_limit,
    held_to_waits,
    more_memory,
    reason,
    run_twice,
    summary,
)
from solver.programs.result import Executed, RoomierPlan
from solver.wording import memory_size


def explanation_of(planned: Executed) -> ProgramExplanation | None:
    """Explain a program; None of a graph too large for it."""
    if is_large(planned.problem.graph):
        return None
    return explain_program(planned.problem, planned.program, planned.run)


def explained_program(
    planned: Executed,
    why: ProgramExplanation | None,
    more: Sequence[RoomierPlan] = (),
    front: Sequence[FrontPoint] = (),
) -> ExplainedAnswer:
    """Say what limits a program, in the fields of every plan."""
    if why is None:
        return UNEXPLAINED
    said = [summary(planned, why)]
    said += filter(None, [run_twice(planned), above_limit(planned), held_to_waits(planned)])
    said += [more_memory(each.extra_bytes, each.gain_us) for each in more]
    said += _along(front)
    return ExplainedAnswer(
        summary=" ".join(said),
        limited_by=why.limited_by,
        sensitivities=[
            Sensitivity(each.name, None, each.channel, each.iteration_time_us, each.gain_us)
            for each in why.sensitivities
        ],
        critical_path=[_step(step) for step in why.critical_path],
        tensors=None,
        breakdown=None,
    )


def launch_reasons_of(planned: Executed, why: ProgramExplanation) -> list[LaunchReasonOut]:
    """Write why each launch starts no earlier, in the order of the buckets."""
    return [
        LaunchReasonOut(
            bucket=bucket_id(each.bucket),
            start_us=each.start_us,
            could_start_us=each.could_start_us,
            why=each.why,
            by=each.by,
            moved=each.moved,
            text=reason(planned, each),
        )
        for each in why.launches
    ]


def _step(step: ProgramPathStep) -> PathStep:
    kind, part = (step.do, None) if step.kind is None else (step.kind, 1)
    return PathStep(kind, step.ops, step.start_us, step.end_us, step.why, step.channel, part)


def _along(front: Sequence[FrontPoint]) -> list[str]:
    """Say what each limit saves over the next lower one that has a plan."""
    known = [
        (point.memory_limit_bytes, point.iteration_time_us)
        for point in sorted(front, key=lambda point: point.memory_limit_bytes)
        if point.iteration_time_us is not None
    ]
    return [
        f"With {memory_size(low)}, {more_memory(high - low, before - after)}"
        for (low, before), (high, after) in pairwise(known)
    ]
