"""Sweeps of programs: a graph of free order on many clusters and within many limits of memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from solver.costs import Cluster, is_extrapolated
from solver.errors import InvalidOptions
from solver.evidence.what_you_run import compiler_of
from solver.graph import NETWORK
from solver.prediction.knees import Knee
from solver.prediction.sweep import PLAN, Cell, CellGain, fastest_of, least_of, share_saved
from solver.programs.bounds.bound import lower_bound
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan, program_evidence
from solver.programs.policies import program_of
from solver.programs.problem import ProgramProblem, compute_time
from solver.simulation.knee import knee_of
from solver.wording import memory_size

#: No program was found that keeps the limit of memory.
INFEASIBLE = "infeasible"


@dataclass(frozen=True, slots=True)
class ProgramCell(Cell):
    """A cluster and a limit of memory.

    Attributes
    ----------
    memory_limit_bytes
        None without a limit.
    peaks
        The most memory of each policy, in their order [bytes]; None where it has no program. Rules
        may take more than the limit, and are then not the best.
    status
        Of the plan, :data:`INFEASIBLE` where it has no program; None where none was asked for.
    """

    memory_limit_bytes: int | None
    peaks: tuple[int | None, ...]
    status: str | None


def program_cell_of(
    problem: ProgramProblem,
    cluster: Cluster,
    policies: Sequence[str],
    options: ProgramOptions,
    *,
    is_here: bool = True,
) -> ProgramCell:
    """Compute one cell of a sweep.

    Parameters
    ----------
    problem
        The graph on that cluster, with a limit of memory or without.
    cluster
        Who takes part, and over what.
    policies
        Keys of :data:`solver.programs.policies.POLICIES`, and :data:`solver.prediction.sweep.PLAN`
        for the plan.
    options
        Of the plan, but for what it is compared with.
    is_here
        The cluster is that of the step that the graph was read from, as far as anybody says.
    """
    rules = tuple(name for name in policies if name != PLAN)
    found: dict[str, tuple[float | None, int | None]] = {}
    status, cut, bound = None, None, None
    if PLAN in policies:
        try:
            planned = plan(problem, replace(options, baselines=rules))
        except InvalidOptions:
            status, found[PLAN] = INFEASIBLE, (None, None)
        else:
            status, cut, bound = planned.status, planned.evidence.cut, planned.bound
            found[PLAN] = planned.run.iteration_time, planned.run.peak_bytes
            found |= {b.policy: (b.iteration_time_us, b.peak_bytes) for b in planned.baselines}
    for name in rules:
        if name not in found:
            run = execute(problem, program_of(name, problem))
            found[name] = run.iteration_time, run.peak_bytes
    times, peaks = zip(*(found[name] for name in policies), strict=True)
    limit = problem.limits.memory_bytes
    channels = {NETWORK: cluster, **dict(cluster.channels)}
    used = {problem.graph.ops[i].channel for i in problem.graph.collectives}
    return ProgramCell(
        workers=cluster.workers,
        bandwidth_gbps=cluster.bandwidth_gbps,
        startup_us=cluster.startup_us,
        compute_time_us=compute_time(problem.graph),
        lower_bound_us=(bound or lower_bound(problem)).value_us,
        times=times,
        fastest=_fastest_within(times, peaks, limit),
        extrapolated=any(is_extrapolated(channels[name]) for name in used),
        evidence=program_evidence(problem, None, cut, is_here=is_here),
        gains=(_gain(problem, _kept(times, peaks, limit)),),
        memory_limit_bytes=limit,
        peaks=peaks,
        status=status,
    )


def with_other_limits(
    cells: Sequence[ProgramCell], policies: Sequence[str]
) -> tuple[ProgramCell, ...]:
    """Let each plan be the fastest of those for any limit on its cluster that keep its own.

    So more memory never costs time. O(cells x limits).
    """
    if PLAN not in policies:
        return tuple(cells)
    at = list(policies).index(PLAN)
    rows: dict[object, list[ProgramCell]] = {}
    for cell in cells:
        rows.setdefault(_cluster(cell), []).append(cell)
    return tuple(_fastest(cell, rows[_cluster(cell)], at) for cell in cells)


def memory_knees(cells: Sequence[ProgramCell], labels: Sequence[str]) -> tuple[Knee, ...]:
    """Find from where on more memory gains nothing: of each policy on each cluster.

    Limits that a policy does not keep do not count; with one limit left there is no knee.

    Parameters
    ----------
    cells
        Limits ascending on each cluster.
    labels
        Name of each policy.
    """
    rows: dict[object, list[ProgramCell]] = {}
    for cell in cells:
        rows.setdefault(_cluster(cell), []).append(cell)
    return tuple(
        _knee(kept, label, at)
        for row in rows.values()
        for at, label in enumerate(labels)
        if len(kept := [cell for cell in row if keeps(cell, at)]) > 1
    )


def keeps(cell: ProgramCell, at: int) -> bool:
    """Tell whether the policy at a place has a program that keeps the limit of memory."""
    return _is_within(cell.peaks[at], cell.memory_limit_bytes)


def _is_within(peak: int | None, limit: int | None) -> bool:
    return peak is not None and (limit is None or peak <= limit)


def _cluster(cell: Cell) -> object:
    return cell.workers, cell.bandwidth_gbps, cell.startup_us


def _fastest(cell: ProgramCell, row: Sequence[ProgramCell], at: int) -> ProgramCell:
    limit = cell.memory_limit_bytes
    kept = [each for each in (cell, *row) if _is_within(each.peaks[at], limit)]
    best = min(kept, key=lambda each: each.times[at] or 0.0, default=cell)
    if best.times[at] == cell.times[at]:
        return cell
    times = (*cell.times[:at], best.times[at], *cell.times[at + 1 :])
    peaks = (*cell.peaks[:at], best.peaks[at], *cell.peaks[at + 1 :])
    return replace(
        cell,
        times=times,
        peaks=peaks,
        fastest=_fastest_within(times, peaks, limit),
        gains=tuple(
            replace(gain, gain=share_saved(gain.today_us, least_of(_kept(times, peaks, limit))))
            for gain in cell.gains
        ),
        status=best.status,
        evidence=replace(cell.evidence, cut=best.evidence.cut),
    )


def _kept(
    times: Sequence[float | None], peaks: Sequence[int | None], limit: int | None
) -> list[float | None]:
    """Return the times of the policies that keep the limit of memory, None of the others."""
    return [
        time if _is_within(peak, limit) else None for time, peak in zip(times, peaks, strict=True)
    ]


def _fastest_within(
    times: Sequence[float | None], peaks: Sequence[int | None], limit: int | None
) -> tuple[int, ...]:
    return fastest_of(_kept(times, peaks, limit))


def _gain(problem: ProgramProblem, kept: Sequence[float | None]) -> CellGain:
    """Compare the fastest with the compiler's program, whatever memory that takes."""
    over = compiler_of(problem.graph)
    run = execute(problem, program_of(over, problem))
    peak = run.peak_bytes if problem.graph.buffers else None
    gain = share_saved(run.iteration_time, least_of(kept))
    return CellGain(over, run.iteration_time, gain, today_peak_bytes=peak)


def _knee(row: Sequence[ProgramCell], label: str, at: int) -> Knee:
    limits = [cell.memory_limit_bytes or 0 for cell in row]
    place = knee_of([1 / time if (time := cell.times[at]) else inf for cell in row])
    value = None if place is None else limits[place]
    said = (
        f"{_size(limits[-1])} of memory, the most of the sweep, still gain more than 1 %"
        if value is None
        else f"beyond {_size(value)} of memory nothing more than 1 % is gained"
    )
    first = row[0]
    return Knee(
        label,
        "memory_limit_bytes",
        first.workers,
        first.bandwidth_gbps,
        first.startup_us,
        value,
        f"{label}: {said}.",
    )


def _size(count: int) -> str:
    return f"{count:,} bytes ({memory_size(count)})"
