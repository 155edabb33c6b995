"""Sweeps: run on all cores, and summed up in sentences."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from app import VERSION
from app.errors import InvalidRequest, TimeLimit, within
from app.limits import MAX_SWEEP_LIMIT_S
from app.reading.program_faults import is_program
from app.schemas.clusters import ClusterBody
from app.schemas.explanations import CostWarning
from app.schemas.problem import CheckedRequest, graph_sha256
from app.schemas.sweeps import (
    SweepAnswer,
    SweepAxes,
    SweepCell,
    SweepPolicy,
    SweepRequest,
    SweepRequestOut,
)
from app.services.channels import scaling_notes
from app.services.executed_programs import assumed_of
from app.services.graphs import lightened, what_if
from app.services.program_problems import held_inputs
from app.services.sweeps.attempts import kept_cells, lost_cell, lost_summary, written
from app.services.sweeps.faults import label_of, sweep_faults
from app.services.sweeps.parallel import SHORT_S, Each, LostItem, Progress, died, each
from app.services.sweeps.program_faults import program_sweep_faults
from app.services.sweeps.programs import memory_summary, program_work
from app.services.sweeps.views import fastest, middle, speed_of
from app.services.warnings import tensors_of, units_of, warnings_of
from solver.costs import MEASURED
from solver.errors import InvalidGraph
from solver.evidence.evidence import Evidence
from solver.evidence.gain import WHAT_RUNS, Over
from solver.graph import NETWORK, Graph, with_barrier
from solver.policies.choice import Choice
from solver.prediction.knees import Knee, knees
from solver.prediction.program_sweep import ProgramCell, memory_knees, with_other_limits
from solver.prediction.sweep import Cell, cell_of, least_of
from solver.simulation.knee import workers_text

#: Of a graph with more ops a cell may take minutes; it is computed where it can be ended.
_SMALL = 500


def run(
    problem: CheckedRequest[SweepRequest],
    progress: Progress | None = None,
    each: Each = each,
    draft: Callable[[Callable[[], str], Callable[[], bytes]], None] | None = None,
    kept: bytes | None = None,
) -> SweepAnswer:
    """Compute all cells on all cores, or as ``each`` does, and what follows from them.

    ``draft`` is given what writes the cells that are done as an answer, and as an attempt after
    this one may take them (``kept``), whenever there is one more, before ``progress`` is told of
    it; any thread may call that, at any time. What is kept is not computed again.

    A cell whose process died each time has no times, and says why. When the cells take longer than
    the request's limit, those that are done are the answer.

    ``progress`` is told how many cells are done, and how many there are; it may raise to give up.
    Of a small graph the first cells are computed in this thread, where the time limit ends a cell
    only after it.

    Raises
    ------
    InvalidRequest
        With all faults that :func:`app.services.sweeps.faults.sweep_faults` finds, when a change
        cannot be made, or when the graph cannot have a barrier.
    TimeLimit
        When no cell is done within the request's limit.
    WorkerDied
        When no cell can be computed: its processes die each time.
    """
    began, request = time.perf_counter(), problem.request
    changed = what_if(problem.graph, request.changes, "changes")
    swept = _swept_problem(problem if changed is None else replace(problem, graph=changed))

    done, lost = kept_cells(kept, len(swept.points)), dict[int, LostItem]()
    left = [place for place in range(len(swept.points)) if place not in done]
    before = len(done)

    def answer(cut: str = "") -> SweepAnswer:
        runtime_s = time.perf_counter() - began
        return _answer(problem, swept, done.copy(), lost.copy(), runtime_s, cut)

    def keep(at: int, cell: Cell | LostItem) -> None:
        if isinstance(cell, LostItem):
            lost[left[at]] = cell
        else:
            done[left[at]] = cell
        if draft and done:
            draft(lambda: answer().model_dump_json(), lambda: written(done.copy()))

    def tell(some: int, _: int) -> None:
        if progress:
            progress(before + some, len(swept.points))
        _check_time(request, before + some, len(swept.points), time.perf_counter() - began)

    short_s = SHORT_S if len(problem.graph.ops) <= _SMALL else 0
    points = [swept.points[place] for place in left]
    try:
        each(swept.work, points, tell, keep=keep, short_s=short_s)
    except TimeLimit as error:
        if not done:
            raise
        return answer(str(error))
    if lost and not done:
        raise died(next(iter(lost.values())))
    return answer()


def _check_time(request: SweepRequest, done: int, many: int, seconds: float) -> None:
    """Raise TimeLimit when some are not done in time."""
    if done < many and seconds > request.sweep_limit_s:
        raise TimeLimit(
            f"Sweep: {done:,} of {many:,} cells were done when the limit of "
            f"{request.sweep_limit_s:g} s was reached; ask for fewer cells or policies, or for a "
            f"longer sweep_limit_s (at most {MAX_SWEEP_LIMIT_S:,})."
        )


class _SweptProblem(NamedTuple):
    """What is swept: the graph, the policies, the points, and what computes the cell of one."""

    graph: Graph
    choices: Sequence[Choice]
    points: Sequence[dict[str, Any]]
    work: Callable[[dict[str, Any]], Cell]

    @property
    def labels(self) -> list[str]:
        """What the policies are called in the cells."""
        return [label_of(choice) for choice in self.choices]


def _swept_problem(problem: CheckedRequest[SweepRequest]) -> _SweptProblem:
    request = problem.request
    if is_program(problem.graph, request):
        if faults := program_sweep_faults(problem.graph, request):
            raise InvalidRequest(faults)
        points, work = request.limited_points(), program_work(problem)
        return _SweptProblem(problem.graph, request.program_choices(), points, work)
    graph = _prepared(problem)
    if faults := sweep_faults(graph, request):
        raise InvalidRequest(faults)
    cell = partial(_cell, graph, request.cluster, request.bare_choices(), request.of_cells())
    return _SweptProblem(graph, request.choices(), request.points(), cell)


def _answer(
    problem: CheckedRequest[SweepRequest],
    swept: _SweptProblem,
    done: Mapping[int, Cell],
    lost: Mapping[int, LostItem],
    runtime_s: float,
    why: str,
) -> SweepAnswer:
    """Answer with all cells, or with those that are done: then no knee is known, and ``why``."""
    request, labels, many = problem.request, swept.labels, len(swept.points)
    places = sorted(done)
    cells: Sequence[Cell] = [done[place] for place in places]
    is_whole = len(cells) == many
    limits = sorted(request.memory_limits_bytes)
    programs = [cell for cell in cells if isinstance(cell, ProgramCell)]
    if programs:
        cells = programs = list(with_other_limits(programs, labels))
    found = (
        ()
        if not is_whole
        else memory_knees(programs, labels)
        if limits[1:]
        else knees(cells, labels)
    )
    answered = [cell_answer(cell, labels) for cell in cells]
    rows = dict(zip(places, answered, strict=True))
    for place, item in lost.items():
        rows[place] = lost_cell(swept.points[place], str(item), answered[0])
    shown = [rows[place] for place in sorted(rows)]
    cut = f"Cut short: {len(rows):,} of {many:,} cells are done, and no knee is known."
    is_moved = len(request.points()) > 1 or not programs
    return SweepAnswer(
        name=problem.graph.name,
        summary=[
            *([] if len(rows) == many else [cut, *([why] if why else [])]),
            *lost_summary(lost, many),
            *_searches_cut(cells),
            *(f"With ops changed: {change.said()}." for change in request.changes),
            *_summary(answered, labels, found),
            *memory_summary(programs, labels, found),
            *(scaling_notes(swept.graph, request.cluster, speed=True) if is_moved else ()),
        ],
        axes=SweepAxes(
            workers=sorted({cell.workers for cell in shown}),
            bandwidths_gbps=list(dict.fromkeys(cell.bandwidth_gbps for cell in shown)),
            startups_us=sorted({cell.startup_us for cell in shown}),
            memory_limits_bytes=limits or None,
        ),
        policies=[
            SweepPolicy.of(choice, label=label, barrier=choice.barrier or request.barrier)
            for label, choice in zip(labels, swept.choices, strict=True)
        ],
        cells=shown,
        inputs_held=held_inputs(request.options) if programs else None,
        cells_asked=many,
        knees=list(found),
        evidence=_least_certain(answered),
        warnings=list(dict.fromkeys(_warnings(problem))),
        request=SweepRequestOut.of(request, graph_sha256=graph_sha256(problem.graph)),
        version=VERSION,
        runtime_s=round(runtime_s, 6),
    )


def _searches_cut(cells: Sequence[Cell]) -> Iterator[str]:
    """Say in how many cells a watchdog ended the search, and which first."""
    cuts = [cell.cut for cell in cells if cell.cut]
    if cuts:
        yield (
            f"The search for the plan was cut short in {len(cuts):,} of {len(cells):,} cells, by "
            f"{cuts[0]}: another run may find other plans there."
        )


def _prepared(problem: CheckedRequest[SweepRequest]) -> Graph:
    """Return the graph as it is run in each cell."""
    graph = lightened(problem.graph)
    try:
        return with_barrier(graph) if problem.request.barrier else graph
    except InvalidGraph as error:
        raise InvalidRequest(within("graph", error.faults)) from error


def _cell(
    graph: Graph,
    cluster: ClusterBody,
    policies: Sequence[Choice],
    how: dict[str, Any],
    point: dict[str, float],
) -> Cell:
    """Compute a cell; its start-up is the one asked for, without that of a cost model."""
    body = cluster.model_copy(update=point)
    cell = cell_of(graph, body.to_cluster(), policies, is_here=body == cluster, **how)
    return replace(cell, startup_us=body.startup_us)


def cell_answer(cell: Cell, labels: Sequence[str]) -> SweepCell:
    """Name the policies of a cell, and say how fast the best is."""
    best = least_of([cell.times[i] for i in cell.fastest])
    peaks = cell.peaks if isinstance(cell, ProgramCell) else None
    return SweepCell.of(
        cell,
        peak_bytes=None if peaks is None else dict(zip(labels, peaks, strict=True)),
        iteration_time_us=dict(zip(labels, cell.times, strict=True)),
        best=None if cell.best is None else labels[cell.best],
        fastest=[labels[i] for i in cell.fastest],
        gains=list(cell.gains),
        scaling_factor=cell.compute_time_us / best if best else None,
        speed=speed_of(cell, best),
        speed_bound=speed_of(cell, cell.lower_bound_us),
    )


def _least_certain(cells: Sequence[SweepCell]) -> Evidence | None:
    """Return the evidence of the cell where a gain must be largest to follow; None without any."""
    evidence = [cell.evidence for cell in cells if cell.evidence is not None]
    return max(evidence, key=lambda each: each.trust_below or 0.0, default=None)


def _summary(
    cells: Sequence[SweepCell], labels: Sequence[str], found: Sequence[Knee]
) -> Iterator[str]:
    """Say who wins, how far behind each is, how fast the largest cluster is, and its knees."""
    wins = Counter(tuple(fastest(cell)) for cell in cells if cell.best is not None).most_common()
    if not wins:
        yield "None of the policies is defined for this graph."
        return
    shares = ", ".join(f"{' = '.join(labels_)} in {won:,}" for labels_, won in wins)
    count = f"{len(cells):,} cell{'s' if len(cells) > 1 else ''}"
    yield f"Fastest of {count}, equal ones within 0.1 % together: {shares}."
    yield from _saved(cells)
    behind = {label: worst for label in labels if (worst := _behind(cells, label)) is not None}
    worsts = ", ".join(f"{label} {worst:.2f}" for label, worst in behind.items())
    if worsts:
        yield f"Longest time over that of the fastest in the same cell: {worsts}."
    workers = max(cell.workers for cell in cells)
    bandwidth = middle([cell.bandwidth_gbps for cell in cells])
    startup = middle([cell.startup_us for cell in cells])
    for cell in cells:
        at = (cell.workers, cell.bandwidth_gbps, cell.startup_us)
        is_there = at == (workers, bandwidth, startup) and cell.peak_bytes is None
        if is_there and cell.speed and cell.speed_bound:
            yield (
                f"With {_place(cell)}, {' and '.join(fastest(cell))} do"
                f"{'' if len(fastest(cell)) > 1 else 'es'} the work of {cell.speed:,.1f} workers "
                f"that never wait; no plan does more than {cell.speed_bound:,.1f}."
            )
    yield from _knees(found, workers, bandwidth, startup)


def _saved(cells: Sequence[SweepCell]) -> Iterator[str]:
    """Say how much the fastest saves over each of what you run, from the least cell to the most."""
    shares: dict[Over, list[float]] = {}
    for cell in cells:
        for gain in cell.gains:
            if gain.gain is not None:
                shares.setdefault(gain.over, []).append(gain.gain)
    said = [
        f"{100 * min(some):.1f} to {100 * max(some):.1f} % over {WHAT_RUNS[over]}"
        for over, some in shares.items()
    ]
    if said:
        yield f"Over what you run the fastest of a cell saves {', '.join(said)}."


def _knees(
    all_knees: Sequence[Knee], workers: int, bandwidth: float | None, startup: float
) -> Iterator[str]:
    """Say where the knees of all policies are, along both axes at one place."""
    at = "" if bandwidth is None else f"at {bandwidth:g} Gbit/s and "
    many = f"with {workers_text(workers)} and a start-up of {startup:g} us"
    for along, axis, unit, place in (
        ("bandwidth_gbps", "bandwidth", "Gbit/s", many),
        ("workers", "workers", "workers", f"{at}with a start-up of {startup:g} us"),
    ):
        here = [
            knee
            for knee in all_knees
            if knee.along == along
            and (knee.workers or workers, knee.startup_us) == (workers, startup)
            and (knee.bandwidth_gbps or bandwidth) == bandwidth
        ]
        at_values = [f"{knee.policy} {knee.value:g}" for knee in here if knee.value is not None]
        without = [knee.policy for knee in here if knee.value is None]
        text = [f"{', '.join(at_values)} {unit}"] if at_values else []
        text += [f"none of {', '.join(without)}, up to the largest"] if without else []
        if text:
            yield (
                f"Knees of {axis}, beyond which nothing of the sweep gains more than 1 %, {place}: "
                f"{'; '.join(text)}."
            )


def _behind(cells: Sequence[SweepCell], label: str) -> float | None:
    """Return the longest time of a policy over that of the best in the same cell."""
    pairs = [
        (times[label], least_of([times[each] for each in fastest(cell)]))
        for cell in cells
        for times in (cell.iteration_time_us,)
    ]
    return max((ours / best for ours, best in pairs if ours is not None and best), default=None)


def _place(cell: SweepCell) -> str:
    speed = "" if cell.bandwidth_gbps is None else f" at {cell.bandwidth_gbps:g} Gbit/s"
    return f"{workers_text(cell.workers)}{speed} and a start-up of {cell.startup_us:g} us"


def _warnings(problem: CheckedRequest[SweepRequest]) -> Iterator[CostWarning]:
    """List what the cells rest on that was not measured, each axis alone."""
    request, sizes = problem.request, tensors_of(problem.graph)
    is_ordered = is_program(problem.graph, request)
    yield from ([] if problem.graph.buffers else units_of(problem.graph))
    yield from (assumed_of(request.options.copy_gbps) if is_ordered else ())
    swept = [cluster for _, _, cluster in request.alone()]
    for cluster in swept or [request.cluster]:
        yield from warnings_of(cluster, sizes)
    several = len({count for count in request.workers if count > 1}) > 1
    used = {lane.channel for lane in sizes}
    for name, (_, channel) in request.cluster.networks().items() if several else ():
        follows = name == NETWORK or channel.workers is None
        is_measured = channel.cost_model is None and channel.algorithm in MEASURED
        if name in used and follows and is_measured:
            what = "Cluster" if name == NETWORK else f"Channel {name!r}"
            detail = f"{what}: a {channel.algorithm} costs the same with any number of workers."
            yield CostWarning(pointer="/workers", code="workers_unknown", detail=detail)
