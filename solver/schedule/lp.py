"""The time-slotted LP of PACE, solved by HiGHS and proven at its optimum."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.limits import MAX_LP_BUCKETS
from solver.schedule.jackson import jackson
from solver.schedule.jobs import (
    Critical,
    Jobs,
    PreemptiveSchedule,
    ServicePiece,
    critical_of,
    join_pieces,
)
from solver.units import FloatArray, IntArray

#: How far from a whole number a vertex's coordinate may be by rounding.
_INTEGRAL = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _Windows:
    """Columns x_i(b) of the LP at one horizon: job i may run in block b.

    ``starts`` are the blocks' first slots and their end, shape (blocks + 1,); ``job`` and
    ``block`` have one entry per column.
    """

    starts: IntArray
    job: IntArray
    block: IntArray


def lp(jobs: Jobs) -> PreemptiveSchedule:
    r"""Schedule slots by PACE's linear program after its reductions.

    Variables :math:`x_i(t) \in [0, 1]` for the slots in :math:`[r_i, D - q_i)`, rows (3)
    :math:`\sum_t x_i(t) = p_i` and (6) :math:`\sum_i x_i(t) \le 1`: a transportation matrix,
    totally unimodular (Theorem 2), so a vertex is a schedule. The least D for which it is feasible
    is the value: the LP is solved at D and at D - 1, and the second one's dual is a minimum cut,
    that is a set of jobs that need more slots than their windows have.

    Parameters
    ----------
    jobs
        Release, duration and tail of n jobs, whole numbers of slots in float arrays.

    Returns
    -------
    Schedule
        Pieces in slots, in time order; the value D; the jobs of the cut as proof.

    Raises
    ------
    InvalidOptions
        When the data are not whole numbers of slots, or there are more than :data:`MAX_LP_BUCKETS`.

    Notes
    -----
    Slots between two neighbouring window ends have the same column in every row, so they are one
    variable with their number as capacity: at most 2n blocks instead of D slots, and the same
    polytope up to the order inside a block, which is most urgent first. The bracket comes from
    :func:`jackson`; both ends are proven here.

    References
    ----------
    .. [1] PACE, problem (14), Theorem 2.
    """
    if not all(np.all(a == np.rint(a)) for a in (jobs.release, jobs.duration, jobs.tail)):
        raise InvalidOptions(
            [
                Fault(
                    "/schedule",
                    FaultCode.OUT_OF_RANGE,
                    "The lp schedule needs whole numbers of slots.",
                )
            ]
        )
    if len(jobs) > MAX_LP_BUCKETS:
        detail = (
            f"The lp schedule takes {MAX_LP_BUCKETS} buckets at most, got {len(jobs)}; use jackson."
        )
        raise InvalidOptions([Fault("/schedule", FaultCode.OUT_OF_RANGE, detail)])
    value = int(jackson(jobs).value)
    return bisect(jobs, value - 1, value)


def bisect(jobs: Jobs, infeasible: int, feasible: int) -> PreemptiveSchedule:
    """Find the least feasible horizon between two [slots], each of which is checked.

    Raises
    ------
    ValueError
        When the ends are not what they are said to be.
    """
    if not len(jobs):
        return PreemptiveSchedule((), 0.0, None)
    pieces = _solve(jobs, feasible)
    cut = _solve(jobs, infeasible)
    if isinstance(pieces, Critical) or not isinstance(cut, Critical):
        raise ValueError(f"the optimum is not in ({infeasible}, {feasible}]")  # noqa: TRY004
    low, high = infeasible, feasible
    while high - low > 1:
        middle = (low + high) // 2
        answer = _solve(jobs, middle)
        if isinstance(answer, Critical):
            low, cut = middle, answer
        else:
            high, pieces = middle, answer
    return PreemptiveSchedule(pieces, float(high), cut)


def _solve(jobs: Jobs, horizon: int) -> tuple[ServicePiece, ...] | Critical:
    """Serve as much as fits before the horizon: a schedule when all fits, else the cut."""
    length = jobs.release + jobs.duration + jobs.tail
    if length.max() > horizon:
        return critical_of(jobs, [int(length.argmax())])
    if not jobs.duration.any():
        return ()
    windows = _windows(jobs, horizon)
    served, dual = _maximum_flow(jobs, windows)
    if served.sum() == jobs.duration.sum():
        return _pieces(jobs, windows, served)
    return _cut(jobs, horizon, np.flatnonzero((dual < 0.5) & (jobs.duration > 0)).tolist())  # noqa: PLR2004 - duals are 0 or 1


def _windows(jobs: Jobs, horizon: int) -> _Windows:
    """Cut time at every release and deadline, and list which job may use which block."""
    active = np.flatnonzero(jobs.duration > 0)
    release = jobs.release[active].astype(np.int64)
    deadline = horizon - jobs.tail[active].astype(np.int64)
    starts = np.unique(np.concatenate([release, deadline]))
    first = np.searchsorted(starts, release)
    count = np.searchsorted(starts, deadline) - first
    offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return _Windows(
        starts=starts,
        job=np.repeat(active, count),
        block=np.repeat(first, count) + offset,
    )


def _maximum_flow(jobs: Jobs, windows: _Windows) -> tuple[FloatArray, FloatArray]:
    """Maximise the slots served under rows (3) and (6).

    Returns the slots that each column serves and the dual of each job's row. The bound x <= 1 is
    left out, since row (6) implies it.
    """
    import highspy  # noqa: PLC0415 - takes time

    rows = len(jobs) + len(windows.starts) - 1
    columns = len(windows.job)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = np.ones(columns)
    model.col_lower_ = np.zeros(columns)
    model.col_upper_ = np.full(columns, highspy.kHighsInf)
    model.row_lower_ = np.full(rows, -highspy.kHighsInf)
    model.row_upper_ = np.concatenate([jobs.duration, np.diff(windows.starts)])
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.arange(0, 2 * columns + 1, 2)
    model.a_matrix_.index_ = np.column_stack([windows.job, len(jobs) + windows.block]).ravel()
    model.a_matrix_.value_ = np.ones(2 * columns)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)  # noqa: FBT003 - takes no names
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("solver", "simplex")
    solver.passModel(model)
    solver.run()
    status = solver.getModelStatus()
    assert status == highspy.HighsModelStatus.kOptimal, f"HiGHS: {status}"
    solution = solver.getSolution()
    flow = np.array(solution.col_value)
    served = np.rint(flow)
    assert np.all(np.abs(flow - served) <= _INTEGRAL), "a vertex of the polytope is integral"
    return served, np.abs(np.array(solution.row_dual[: len(jobs)]))


def _pieces(jobs: Jobs, windows: _Windows, served: FloatArray) -> tuple[ServicePiece, ...]:
    """Lay out each block's slots: the job already running first, then most urgent first."""
    pieces: list[ServicePiece] = []
    used = np.flatnonzero(served)
    order = np.lexsort((windows.job[used], -jobs.tail[windows.job[used]], windows.block[used]))
    used = used[order]
    edges = np.flatnonzero(np.diff(windows.block[used], prepend=-1, append=-1))
    for low, high in pairwise(edges.tolist()):
        block = used[low:high]
        entries = [(int(windows.job[c]), float(served[c])) for c in block]
        running = pieces[-1].job if pieces else -1
        entries.sort(key=lambda entry: entry[0] != running)
        now = float(windows.starts[windows.block[block[0]]])
        for job, slots in entries:
            pieces.append(ServicePiece(job, now, now + slots))
            now += slots
    return join_pieces(pieces)


def _cut(jobs: Jobs, horizon: int, members: list[int]) -> Critical:
    """Take the fullest stretch of touching windows among the jobs on the full side of the cut."""
    members.sort(key=lambda j: (jobs.release[j], j))
    stretches: list[list[int]] = []
    end = -1.0
    for j in members:
        if not stretches or jobs.release[j] >= end:
            stretches.append([])
        stretches[-1].append(j)
        end = max(end, horizon - float(jobs.tail[j]))
    found = [critical_of(jobs, sorted(stretch)) for stretch in stretches]
    return max(found, key=lambda c: c.release + c.work + c.tail)
