"""Local search on the launches of any graph: annealing of all of it, then of one stretch at a time.

Most changes are made on the longest path: it runs through launches that wait for their bucket's
release or for the launch before them, and only changes to these can shorten it
(:mod:`solver.fusion.general.annealing.anneal`). A change is executed in the time of what it is part
of, so long iterations are improved stretch by stretch (:mod:`solver.fusion.general.window`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import NamedTuple

from solver.fusion.general.annealing.anneal import PlanAnnealer
from solver.fusion.general.annealing.problem import AnnealingProblem
from solver.fusion.general.flat import capacities, launches_of, least_times, plan_of, problem_of
from solver.fusion.general.judge import ChannelLaunches, GraphJudge, flat
from solver.fusion.general.window import Whole, Window, window
from solver.fusion.search import Allowance, Reporter, unreported
from solver.units import same

#: Changes of the whole that are tried, and ops and launches over all of them; the smaller counts.
_MOVES, _STEPS = 200_000, 220_000_000


#: Changes of the whole that are tried for each collective, at most.
_MOVES_EACH = 4_000


#: Changes of stretches that are tried in all: some, more for each collective, and at most; and of
#: each stretch at a time.
_WINDOWS_LEAST, _WINDOWS_EACH, _WINDOWS_MOST = 200_000, 1_300, 4_000_000
_WINDOW_MOVES = 16_000


#: The whole has at most this share of what is left of the allowance, the stretches so much of what
#: is left then: the rest is for joining launches.
_FOR_WHOLE, _FOR_WINDOWS = 0.4, 0.95


#: Steps of the allowance for each op and launch of the whole: cutting a stretch out, and putting
#: one back that was changed.
_CUT_OUT, _PUT_BACK = 6, 35


#: Stretches are looked at again only where each gets so many changes each time.
_WORTHWHILE = 2_000


#: Launches of a stretch: a share of all, between these.
_SHARE, _LEAST, _MOST = 4, 40, 80


#: How often all stretches are looked at, at most; the first temperature of the first time and of
#: the last; and how many ops and launches are passed in cutting stretches out, over all times: once
#: is the least.
_SWEEPS, _HOT, _COOL, _PASSED = 5, 1.0, 0.1, 3_000_000


#: Temperatures of a stage.
_TEMPERATURES = 64


#: Temperatures between two reports of what was found.
_TOLD = 8


#: Last temperature; all temperatures are in iteration times over the number of collectives, which
#: is about the time that one of them takes up.
_COLD = 5e-4


class _Stage(NamedTuple):
    """A stage of the search: its share of the moves, its first temperature, and its first plan."""

    share: float
    hot: float
    start: int | None  # which of the plans to start with; None: the best one so far


_STAGES = (
    _Stage(0.3, 0.1, 0),
    _Stage(0.2, 0.3, 1),
    _Stage(0.25, 1.0, None),
    _Stage(0.25, 0.1, None),
)


@dataclass(frozen=True, slots=True)
class Improvement:
    """How a search of any graph improves a plan.

    Attributes
    ----------
    urgency
        Longest path behind each tensor [us], by chain index.
    pieces
        Of each lane, sizes that launches may be cut in [bytes].
    seed
        Of every random choice: the answer is the same for the same seed and effort.
    effort
        Multiplies how many changes are tried.
    bound
        Lower bound on the iteration time [us]; a plan that reaches it ends the search.
    fuse
        Whether buckets may change and launches be cut.
    allowance
        What may be looked at, whatever the effort.
    report
        Is told of better plans on the way.
    """

    urgency: Sequence[float]
    pieces: Sequence[Sequence[int]]
    seed: int = 0
    effort: int = 1
    bound: float = 0.0
    fuse: bool = True
    allowance: Allowance = field(default_factory=Allowance)
    report: Reporter = unreported


def improve(
    starts: Sequence[ChannelLaunches], judge: GraphJudge, how: Improvement
) -> ChannelLaunches:
    """Return the best plan found from some without deadlocks, never worse than the first one."""
    problem = problem_of(judge)
    best = _anneal(starts, judge, problem, how)
    launches = sum(map(len, best))
    size = min(max(launches // _SHARE, _LEAST), _MOST)
    if launches <= size:
        return best
    work = _windows(launches, size, problem, how)
    for k, hot in enumerate(how.effort * _heats(work.sweeps)):
        best = _sweep(best, judge, problem, how, size, (work.each, hot), k)
    return best


class _Windows(NamedTuple):
    """How often all stretches are looked at, and with how many changes each."""

    sweeps: int
    each: int


def _windows(launches: int, size: int, problem: AnnealingProblem, how: Improvement) -> _Windows:
    """Share what is left of the allowance among all stretches, rather than end in the middle.

    One sweep is made in any case; where even that is too long, the allowance ends it.
    """
    stretches = _stretches(launches, size)
    moves = min(_WINDOWS_MOST, _WINDOWS_LEAST + _WINDOWS_EACH * problem.tensors)
    passed = problem.nodes + launches
    left = _FOR_WINDOWS * how.allowance.left / how.effort
    around = 2 * passed / stretches  # of a stretch: each op and launch is in two
    cutting = stretches * passed * (_CUT_OUT + _PUT_BACK / 2)
    sweeps = max(1, min(_SWEEPS, _PASSED // (stretches * passed)))
    while sweeps > 1 and sweeps * (cutting + stretches * _WORTHWHILE * around) > left:
        sweeps -= 1
    each = min(_WINDOW_MOVES, moves // (stretches * sweeps))
    most = max(_WORTHWHILE, (left / sweeps - cutting) / (stretches * around))
    return _Windows(sweeps, max(1, int(min(each, most))))


def _stretches(launches: int, size: int) -> int:
    """Count the stretches of some launches, each of which begins half a stretch further."""
    return -(-launches // (size // 2))


def _heats(sweeps: int) -> list[float]:
    """Fall from the first temperature to the last one by even ratios; one alone is the last."""
    ratio = _HOT / _COOL
    return [_COOL * ratio ** (k / max(1, sweeps - 1)) for k in reversed(range(sweeps))]


def _anneal(
    starts: Sequence[ChannelLaunches],
    judge: GraphJudge,
    problem: AnnealingProblem,
    how: Improvement,
) -> ChannelLaunches:
    """Change anything, in stages: from the best plan, from another one, from the best so far."""
    capacity = capacities(judge, starts)
    plans = [plan_of(problem, capacity, lists) for lists in starts]
    annealer = PlanAnnealer(problem, how.urgency, how.pieces, capacity, how.seed, fuse=how.fuse)
    annealer.begin(plans[0])
    unit = annealer.best.value / problem.tensors
    passed = problem.nodes + sum(map(len, starts[0]))
    most = min(_MOVES, _MOVES_EACH * problem.tensors, _STEPS // passed)
    allowed = _FOR_WHOLE * how.allowance.left / passed
    moves = int(min(how.effort * max(1, most), max(1, allowed)))
    for stage in _STAGES:
        is_known = stage.start is not None and stage.start < len(plans)
        annealer.begin(plans[stage.start or 0] if is_known else annealer.best)
        found = 0
        cooling = _cooling(int(stage.share * moves), stage.hot, unit)
        for k, (now, temperature) in enumerate(cooling, 1):
            if how.allowance.is_spent() or _is_enough(annealer.best.value, how):
                return launches_of(annealer.best)
            how.allowance.spend(now * passed)
            found += annealer.run(now, temperature, how.bound)
            if found and k % _TOLD == 0:
                found = 0
                how.report(flat(launches_of(annealer.best)), annealer.best.value)
    return launches_of(annealer.best)


def _sweep(
    lists: ChannelLaunches,
    judge: GraphJudge,
    problem: AnnealingProblem,
    how: Improvement,
    size: int,
    heat: tuple[int, float],
    count: int,
) -> ChannelLaunches:
    """Change one stretch of so many launches after the other, each half a stretch further.

    ``heat`` is the changes of each, and their first temperature.
    """
    least = least_times(judge)
    whole = Whole(lists, judge, problem, least)
    unit = whole.value / problem.tensors
    launches = sum(map(len, lists))
    stretches, passed = _stretches(launches, size), problem.nodes + launches
    cooling = _cooling(*heat, unit)
    for k in range(stretches):
        if how.allowance.is_spent() or _is_enough(whole.value, how):
            break
        begins = sorted(chain.from_iterable(whole.begins))
        first, last = k * (size // 2), k * (size // 2) + size
        if first >= len(begins):
            break
        stretch = begins[first] if first else 0.0, begins[last] if last < len(begins) else inf
        how.allowance.spend(_CUT_OUT * passed)
        cut = window(whole, stretch)
        changed = _change(cut, whole.lists, how, cooling, count * stretches + k)
        if changed is None:
            continue
        how.allowance.spend(_PUT_BACK * passed)
        there = Whole(changed, judge, problem, least)
        if there.value < whole.value and not same(there.value, whole.value):
            whole = there
            how.report(flat(whole.lists), whole.value)
    return whole.lists


def _change(
    cut: Window,
    lists: ChannelLaunches,
    how: Improvement,
    cooling: Sequence[tuple[int, float]],
    number: int,
) -> ChannelLaunches | None:
    """Anneal a stretch; return the whole plan with what was found, None when nothing was."""
    capacity = [2 * len(launches) + 8 for launches in cut.launches]
    annealer = PlanAnnealer(
        cut.problem,
        [max(how.urgency[i] for i in some) for some in cut.tensors],
        [how.pieces[lane] for lane in cut.lanes],
        capacity,
        how.seed + number + 1,
        fuse=how.fuse,
    )
    annealer.begin(plan_of(cut.problem, capacity, cut.launches))
    around = cut.problem.nodes + sum(map(len, cut.launches))
    how.allowance.spend(around * sum(now for now, _ in cooling))
    found = 0
    for now, temperature in cooling:
        if how.allowance.watchdog.is_over():
            break
        found += annealer.run(now, temperature, how.bound)
    return cut.put_back(annealer.best, lists) if found else None


def _cooling(moves: int, hot: float, unit: float) -> list[tuple[int, float]]:
    """Part moves among temperatures [us] from ``hot`` units down."""
    ratio = _COLD / hot
    if not moves:
        return []
    steps = min(_TEMPERATURES, moves)
    return [
        (moves * (k + 1) // steps - moves * k // steps, unit * hot * ratio ** (k / steps))
        for k in range(steps)
    ]


def _is_enough(value: float, how: Improvement) -> bool:
    return value <= how.bound or same(value, how.bound)
