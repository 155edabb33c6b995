"""Sweeps of programs: what a cell is, and what memory gains in sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from app.schemas.clusters import ClusterBody
from app.schemas.problem import CheckedRequest
from app.schemas.program_options import SweptOptions
from app.schemas.sweeps import SweepRequest
from app.services.program_problems import problem_on
from solver.graph import Graph
from solver.prediction.knees import Knee
from solver.prediction.program_sweep import INFEASIBLE, ProgramCell, program_cell_of
from solver.prediction.sweep import PLAN
from solver.programs.explanation.sentences import more_memory
from solver.programs.plan import ProgramOptions
from solver.wording import memory_size

#: The search of a cell's program takes so much of what that of a program alone may: some 2 s.
_SHARE = 0.5

#: What a point of a sweep has beside what it changes of the cluster.
LIMIT = "memory_limit_bytes"


def program_work(problem: CheckedRequest[SweepRequest]) -> partial[ProgramCell]:
    """Return what computes the cell of a point."""
    request = problem.request
    policies = [choice.policy for choice in request.program_choices()]
    options, given = (
        ProgramOptions(
            seed=request.seed,
            time_limit_s=request.time_limit_s,
            share=_SHARE,
            launch_tolerance=request.launch_tolerance,
        ),
        request.options,
    )
    if given.margin_us is not None:
        options = replace(options, margin_us=given.margin_us)
    return partial(_cell, problem.graph, request.cluster, policies, given, options)


def _cell(
    graph: Graph,
    cluster: ClusterBody,
    policies: Sequence[str],
    given: SweptOptions,
    options: ProgramOptions,
    point: dict[str, Any],
) -> ProgramCell:
    """Compute a cell; its start-up is the one asked for, without that of a cost model."""
    on = cluster.model_copy(update={name: point[name] for name in point if name != LIMIT})
    problem = problem_on(graph, on, given, point.get(LIMIT))
    is_here = on == cluster
    cell = program_cell_of(problem, on.to_cluster(), policies, options, is_here=is_here)
    return replace(cell, startup_us=on.startup_us)


def memory_summary(
    cells: Sequence[ProgramCell], policies: Sequence[str], found: Sequence[Knee]
) -> Iterator[str]:
    """Say where there is no plan, and what more memory gains."""
    many = f"{len(cells):,}"
    if without := sum(cell.status == INFEASIBLE for cell in cells):
        yield f"No program was found within the limit of memory in {without:,} of {many} cells."
    if PLAN not in policies or not cells:
        return
    at, last = list(policies).index(PLAN), cells[-1]
    row = [
        (cell.memory_limit_bytes or 0, time)
        for cell in cells
        if (cell.workers, cell.bandwidth_gbps, cell.startup_us)
        == (last.workers, last.bandwidth_gbps, last.startup_us)
        and (time := cell.times[at]) is not None
    ]
    for (low, before), (high, after) in pairwise(row):
        yield f"With {memory_size(low)}, {more_memory(high - low, before - after)}"
    yield from (
        each.text
        for each in found
        if each.along == LIMIT
        and each.policy == PLAN
        and (each.workers, each.bandwidth_gbps, each.startup_us)
        == (last.workers, last.bandwidth_gbps, last.startup_us)
    )
