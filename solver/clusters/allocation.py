"""Node sets for a job beside those that run, ranked by what each makes of all jobs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from typing import Final, NamedTuple

import numpy as np

from solver.clusters.beside import PlacedJob, Profiles, links_of, mix_of
from solver.clusters.mapping import MOVES, FoundMapping, Mapping, MappingJudge, find_mapping
from solver.clusters.rules import RULES
from solver.clusters.wiring import Wiring
from solver.clusters.workloads import Workload
from solver.jobs.blame import p95
from solver.jobs.estimate import ESTIMATE_ERROR, estimated_slowdowns
from solver.jobs.mix import AT_ONCE, JobTerms
from solver.jobs.simulate import simulate_mix, slowdowns_of
from solver.units import IntArray

#: What allocations are ranked by: the mean slow-down of all jobs, the worst, the mean by weight, or
#: the money that GPUs cost in an hour while they wait.
OBJECTIVES: Final = ("mean", "worst", "weighted", "money")

#: Iterations of each job in a simulation beside others, at most.
ITERATIONS: Final = 10
#: Sets that are simulated whatever it takes; no more are after so many events, each times the jobs
#: of its run: about a second.
_LEAST, _EVENTS = 3, 2_500_000
#: Mappings times nodes of the cluster that a search looks at, a few seconds; and the share of them
#: below single switches.
_WORK, _BELOW = 200_000_000, 0.25


@dataclass(frozen=True, slots=True)
class AllocationOptions:
    """How allocations are searched and ranked.

    Attributes
    ----------
    objective
        One of :data:`OBJECTIVES`.
    moves
        Mappings to try, of all node sets together; those times the nodes of the cluster are
        200,000,000 at most.
    simulated
        How many of the best are simulated beside the jobs that run, beyond the third only until
        all runs together had 2,500,000 events times jobs; the others are estimated.
    weight, price_per_gpu_hour, terms
        Of the new job.
    """

    objective: str = "mean"
    moves: int = MOVES
    simulated: int = 30
    weight: float = 1.0
    price_per_gpu_hour: float = 1.0
    terms: JobTerms = AT_ONCE


class _Slowed(NamedTuple):
    """How many times as long a job takes: in the mean, and 95 of 100 iterations at most."""

    mean: float
    p95: float | None


@dataclass(frozen=True, slots=True)
class JobSlowdown:
    """A job beside the others.

    Attributes
    ----------
    name
        Which.
    alone_us, time_us
        Its step alone on its nodes, and the mean beside the others [us].
    p95_us
        What 95 of 100 simulated steps beside the others do not exceed [us]; None where estimated.
    slowdown
        The new job's over its fastest allocation alone, another's over its own alone.
    before
        The same without the new job, known in the same way; None for the new job.
    """

    name: str
    alone_us: float
    time_us: float
    p95_us: float | None
    slowdown: float
    before: float | None


@dataclass(frozen=True, slots=True)
class RankedAllocation:
    """A node set with the mapping that was found for it, and what it makes of all jobs.

    Attributes
    ----------
    candidate
        Its place among those given; None for one that was searched.
    rules
        Rules of today that take the same nodes.
    mapping
        Slots on nodes.
    objective
        What it is ranked by; less is better.
    jobs
        The new job first, then those that run.
    shared
        Links that the new job shares with others, and these others' names.
    is_simulated
        Whether the slow-downs are simulated; else they are estimated.
    least
        The objective if each slow-down were :data:`ESTIMATE_ERROR` less that is estimated beside
        the new job; the objective itself where none is.
    """

    candidate: int | None
    rules: tuple[str, ...]
    mapping: Mapping
    objective: float
    jobs: tuple[JobSlowdown, ...]
    shared: tuple[tuple[str, tuple[str, ...]], ...]
    is_simulated: bool
    least: float


@dataclass(frozen=True, slots=True)
class Allocations:
    """Ranked node sets of a job.

    Attributes
    ----------
    ranked
        From the best.
    lower_bound_us
        No mapping onto any of the free nodes has a shorter step, alone [us].
    rivals
        What today's rules take of the free nodes, alone: by name.
    moves
        Mappings that were tried.
    moves_cut
        Mappings that were to be tried and are too many for so large a cluster.
    switches_cut
        Switches with room for the job below which nothing was sought, for the same reason.
    """

    ranked: tuple[RankedAllocation, ...]
    lower_bound_us: float
    rivals: tuple[tuple[str, Mapping], ...]
    moves: int
    moves_cut: int = 0
    switches_cut: int = 0

    @property
    def undecided(self) -> int:
        """Sets by estimate that may be better than the best, as far as estimates are off."""
        best = self.ranked[0].objective
        return sum(each.least < best for each in self.ranked[1:])


@dataclass
class _Sets:
    """Node sets that were mapped, each once."""

    found: dict[tuple[int, ...], tuple[int | None, Mapping]] = field(default_factory=dict)

    def add(self, at: int | None, mapping: Mapping) -> None:
        key = tuple(sorted(mapping.nodes))
        if mapping.time_us < inf and (
            key not in self.found or mapping.key < self.found[key][1].key
        ):
            self.found[key] = at, mapping


def allocate(
    wiring: Wiring,
    job: Workload,
    free: IntArray,
    candidates: Sequence[IntArray] = (),
    running: Sequence[PlacedJob] = (),
    options: AllocationOptions | None = None,
) -> Allocations:
    """Rank node sets for a job by what each makes of it and of the jobs that run.

    Parameters
    ----------
    wiring
        The topology.
    job
        What is to be put on nodes.
    free
        Positions of free nodes; with ``candidates`` their union.
    candidates
        Node sets to rank, each with at least as many nodes as the job has slots; none to search
        all free nodes: what the search finds, what each rule of today takes, and the best below
        each switch that has room.
    running
        Jobs that run.
    options
        How; None for the defaults.

    Returns
    -------
    Allocations
        The best first. Sets whose nodes are not joined are left out.

    Notes
    -----
    O((moves + sets) (flows + nodes)), an estimate of O(links jobs^2) for each set that shares
    links, and a simulation for each of the best few. With equal objectives the shorter step alone
    is first, then the smaller load on links, then the given order.
    """
    chosen = options or AllocationOptions()
    judge = MappingJudge(wiring, job)
    most = _WORK // len(wiring.topology.nodes)
    moves = min(chosen.moves, most)
    whole = find_mapping(judge, free, 0 if candidates else moves)
    sets, tried, switches_cut = _Sets(), whole.moves, 0
    if candidates:
        each = moves // len(candidates)
        for i, nodes in enumerate(candidates):
            found = find_mapping(judge, np.sort(nodes), each, bound=whole.lower_bound_us)
            sets.add(i, found.best)
            tried += found.moves
    else:
        more, switches_cut = _search(sets, judge, free, whole, moves, int(most * _BELOW))
        tried += more
    ranked = _Ranking(wiring, job, tuple(running), chosen).of(sets.found.values())
    by_set = {tuple(sorted(mapping.nodes)): list[str]() for _, mapping in whole.rivals}
    for name, mapping in whole.rivals:
        by_set[tuple(sorted(mapping.nodes))].append(name)
    with_rules = tuple(
        replace(each, rules=tuple(by_set.get(tuple(sorted(each.mapping.nodes)), ())))
        for each in ranked
    )
    return Allocations(
        with_rules,
        whole.lower_bound_us,
        whole.rivals,
        tried,
        chosen.moves - moves,
        switches_cut,
    )


def _search(
    sets: _Sets, judge: MappingJudge, free: IntArray, whole: FoundMapping, moves: int, most: int
) -> tuple[int, int]:
    """Map the sets that a search tries beside the best: of rules, and below each switch.

    Returns the mappings tried, about ``most`` of them, and the switches left out for that: lower
    ones come first, and of those as low the ones that the topology names first.
    """
    sets.add(None, whole.best)
    for _, mapping in whole.rivals:
        sets.add(None, mapping)
    slots, tried = judge.job.slots, 0
    with_room = [inside for inside in _below_each(judge.wiring, free) if len(inside) >= slots]
    # eight mappings of each at least, and those of the rules
    some = with_room[: max(1, most // 12)]
    below: dict[tuple[int, ...], None] = {}
    for inside in some:
        packed = RULES["packed"](judge.wiring, slots, inside)
        below[tuple(sorted(packed.tolist()))] = None
    for nodes in below:
        found = find_mapping(judge, np.array(nodes), max(8, moves // (4 * len(below))))
        sets.add(None, found.best)
        tried += found.moves
    return tried, len(with_room) - len(some)


def _below_each(wiring: Wiring, free: IntArray) -> Iterator[IntArray]:
    """Yield the free nodes below each switch, lower switches first."""
    for over in wiring.switches[1:]:
        order = free[np.argsort(over[free], kind="stable")]
        yield from np.split(order, np.flatnonzero(np.diff(over[order])) + 1)


class _Ranking:
    """Ranks mapped node sets beside jobs that run."""

    def __init__(
        self,
        wiring: Wiring,
        job: Workload,
        running: tuple[PlacedJob, ...],
        options: AllocationOptions,
    ) -> None:
        self.wiring, self.job, self.running, self.options = wiring, job, running, options
        self.profiles = Profiles(wiring.topology)
        self.events = 0  # of all runs, each times its jobs
        self.links = {placed.name: self._links_of(placed) for placed in running}
        self.before = {
            is_simulated: self._slowdowns(running, is_simulated=is_simulated)
            for is_simulated in ((False, True) if options.simulated else (False,))
        }

    def of(self, sets: Iterable[tuple[int | None, Mapping]]) -> list[RankedAllocation]:
        """Return the sets from the best."""
        found = list(sets)
        fastest = min((mapping.time_us for _, mapping in found), default=inf)
        ranked = sorted(
            (self._row(at, mapping, fastest, is_simulated=False) for at, mapping in found),
            key=_order,
        )
        if not self.running:
            return ranked
        best: list[RankedAllocation] = []
        for each in ranked[: self.options.simulated]:
            if len(best) >= _LEAST and self.events > _EVENTS:
                break
            best.append(self._row(each.candidate, each.mapping, fastest, is_simulated=True))
        return sorted(best, key=_order) + ranked[len(best) :]

    def _row(
        self, at: int | None, mapping: Mapping, fastest: float, *, is_simulated: bool
    ) -> RankedAllocation:
        options = self.options
        price = options.price_per_gpu_hour
        new = PlacedJob("", self.job, mapping, options.weight, price, options.terms)
        links = self._links_of(new) if self.running else frozenset()
        near = self._near(links)
        before = self.before[is_simulated]
        factors = before | self._slowdowns((new, *near), is_simulated=is_simulated)
        off = 1.0 if is_simulated else 1 + ESTIMATE_ERROR
        doubted = {placed.name for placed in (new, *near)} if near else set[str]()
        rows, less = [], []
        for placed in (new, *self.running):
            alone, (factor, late) = placed.mapping.time_us, factors[placed.name]
            base = fastest if placed is new else alone
            rows.append(
                JobSlowdown(
                    placed.name,
                    alone,
                    alone * factor,
                    None if late is None else alone * late,
                    alone * factor / base,
                    None if placed is new else before[placed.name].mean,
                )
            )
            if placed.name in doubted:
                factor = max(1.0, factor / off)
            less.append(alone * factor / base)
        shared = tuple(
            (link, others)
            for link in sorted(links)
            if (others := tuple(p.name for p in near if link in self.links[p.name]))
        )
        jobs = (new, *self.running)
        value = self._objective([row.slowdown for row in rows], jobs)
        least = self._objective(less, jobs)
        return RankedAllocation(at, (), mapping, value, tuple(rows), shared, is_simulated, least)

    def _links_of(self, placed: PlacedJob) -> frozenset[str]:
        return frozenset(chain.from_iterable(links_of(self.wiring, placed)))

    def _near(self, links: frozenset[str]) -> tuple[PlacedJob, ...]:
        """Return the running jobs that share these links, or links with such jobs."""
        reached, near = set(links), dict[str, PlacedJob]()
        while True:
            more = [
                placed
                for placed in self.running
                if placed.name not in near and self.links[placed.name] & reached
            ]
            if not more:
                return tuple(placed for placed in self.running if placed.name in near)
            for placed in more:
                near[placed.name] = placed
                reached |= self.links[placed.name]

    def _slowdowns(self, jobs: tuple[PlacedJob, ...], *, is_simulated: bool) -> dict[str, _Slowed]:
        terms = tuple(placed.terms for placed in jobs)
        if len(jobs) < 2:  # noqa: PLR2004 - none is alone with others
            alone = [placed.mapping.time_us for placed in jobs]
            waits = [own.cycle_us(us) / us for own, us in zip(terms, alone, strict=True)]
            return {
                placed.name: _Slowed(wait, wait) for placed, wait in zip(jobs, waits, strict=True)
            }
        mix = mix_of(self.wiring, self.profiles, jobs)
        if not is_simulated:
            found = zip(jobs, estimated_slowdowns(mix, terms), strict=True)
            return {placed.name: _Slowed(max(1.0, factor), None) for placed, factor in found}
        run = simulate_mix(mix, terms, ITERATIONS, is_blamed=False)
        self.events += run.events * len(jobs)
        late = (p95(times) / job.alone_us for times, job in zip(run.times, mix.jobs, strict=True))
        return {  # a replay may be faster than alone by what it rounds
            placed.name: _Slowed(max(1.0, mean), max(1.0, most))
            for placed, mean, most in zip(jobs, slowdowns_of(mix, run), late, strict=True)
        }

    def _objective(self, slow: list[float], jobs: tuple[PlacedJob, ...]) -> float:
        if self.options.objective == "worst":
            return max(slow)
        if self.options.objective == "money":
            return sum(
                placed.gpus * placed.price_per_gpu_hour * (1 - 1 / factor)
                for placed, factor in zip(jobs, slow, strict=True)
            )
        weights = [
            placed.weight if self.options.objective == "weighted" else 1.0 for placed in jobs
        ]
        return sum(w * s for w, s in zip(weights, slow, strict=True)) / sum(weights)


def _order(ranked: RankedAllocation) -> tuple[float, float, float, int]:
    at = -1 if ranked.candidate is None else ranked.candidate
    return round(ranked.objective, 9), ranked.mapping.time_us, ranked.mapping.load, at
