"""The search: list rules forwards and backwards, then annealing from the best of them."""

from collections.abc import Callable, Iterable, Iterator
from math import inf

from solver.programs.policies.in_order import least_order
from solver.programs.policies.least_memory import least_memory, least_memory_within
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, Program
from solver.programs.search.anneal import ProgramAnnealer
from solver.programs.search.draft import ProgramDraft
from solver.programs.search.flat import Flat
from solver.programs.search.list_scheduler import ListScheduler
from solver.programs.search.repair import Repair
from solver.watchdog import Watchdog

#: How many compute ops a list rule looks ahead: 1 keeps the given order, the last looks at all.
_WINDOWS = (1, 20, 60, 200, 1 << 30)

#: How often a list is made from the end and from the start again.
_TURNS = 3

#: Items of all programs of one search, whatever their number: some 5 s on a core where it is
#: compiled.
_ITEMS = 450_000_000

#: The most changes of one search; a small problem is searched from several seeds.
_CHANGES = 400_000

#: So many, for a problem of at most so many items.
_SEEDS, _SMALL = 8, 500

#: From so many starts a larger problem is searched with this share of the changes, then on from
#: where the best came to.
_TRIED, _TRIAL = 3, 0.15

#: Changes between two looks at the watchdog.
_STRETCH = 2_000

#: With a smaller share of the changes only the best start is searched on.
_ALONE = 0.5

#: Rounds of changes, each colder than the one before.
_ROUNDS = 12

#: The first temperature from seed to seed, in times of an item in the mean; the last is so much
#: colder.
_HOT, _COLDER = (0.02, 1.0, 0.2, 3.0), 30.0

#: So much of the time is what memory twice the limit costs.
_PRICE = 3.0

#: Memory above the limit, as a share of it, counts so many times the time that it lasts, in the
#: first round and so many times as much in the last: the search passes through such programs early.
_WEIGHT, _HEAVIER = 10.0, 1e5

#: Under a limit so much of the changes go to a search without it, whose end is repaired.
_RELAXED = 0.25


class ProgramSearch:
    """A search and its best draft.

    Attributes
    ----------
    best
        The program of least time that keeps the memory limit; None while there is none.
    value, peak
        Its time [us] and memory [bytes].
    least_peak
        The least memory of any draft [bytes].
    """

    def __init__(self, problem: ProgramProblem, report: Callable[[Program, float], None]) -> None:
        """Lay the problem out."""
        self.flat = Flat(problem)
        self.best: Program | None = None
        self.value, self.peak, self.least_peak = inf, 0, 1 << 62
        self.report = report
        self.starts: list[tuple[float, int, ProgramDraft]] = []
        self.kept = 0
        self.fastest = ProgramDraft(self.flat)
        self.repair: Repair | None = None

    def offer(self, draft: ProgramDraft) -> None:
        """Take a draft that was executed, where it is the best so far."""
        self.least_peak = min(self.least_peak, draft.peak)
        if draft.excess == 0 and (draft.value, draft.peak) < (self.value, self.peak):
            self.value, self.peak = draft.value, draft.peak
            self.best = draft.program()
            self.report(self.best, draft.value)

    def start_at(self, draft: ProgramDraft) -> None:
        """Execute a draft, and remember it as one to begin with, and as it is when repaired."""
        draft.execute(inf)
        self.offer(draft)
        self._keep(draft)
        if draft.excess and self.repair is not None:
            self.repair.make(draft)
            draft.execute(inf)
            self.offer(draft)
            self._keep(draft)

    def _keep(self, draft: ProgramDraft) -> None:
        """Remember a draft where it is one of the best, or the fastest, so far."""
        if draft.value < self.fastest.value:
            self.fastest.adopt(draft)
        self.kept += 1
        own = (self.energy(draft), self.kept)
        if any(own[0] == energy for energy, _, _ in self.starts):
            return
        if len(self.starts) < _TRIED:
            self.starts.append((*own, ProgramDraft(self.flat)))
        elif own < self.starts[-1][:2]:
            self.starts[-1] = (*own, self.starts[-1][2])
        else:
            return
        self.starts[-1][2].adopt(draft)
        self.starts.sort(key=lambda start: start[:2])

    def energy(self, draft: ProgramDraft) -> float:
        """Time and, at its price, memory above the limit [us]."""
        return draft.value * (1 + _PRICE * draft.excess / max(1, self.flat.memory))

    def begin(self, programs: Iterable[Program]) -> None:
        """Begin with programs, and with lists: a first answer in a small part of the time."""
        programs = tuple(programs)
        limited = self.flat.problem.limits.memory_bytes is not None
        for order in self._orders(programs) if limited else ():
            if self._is_safe(order):
                break
        self._follow(programs)
        self._list()

    def _orders(self, programs: Iterable[Program]) -> Iterator[list[int]]:
        """Yield orders of all ops, one after another, of which one may keep the limit.

        That of the graph, those of the programs, or ones of little memory.
        """
        problem = self.flat.problem
        yield list(least_order(problem))
        yield from map(_order_of, programs)
        yield _order_of(least_memory(problem))
        if (found := least_memory_within(problem, self.flat.memory)) is not None:
            yield _order_of(found)

    def _is_safe(self, order: list[int]) -> bool:
        """Take a safe order where it is one, and begin with it; tell whether it is."""
        flat = self.flat
        draft = ProgramDraft(flat)
        items = []
        for i in order:
            c = flat.number[i]
            items += [i] if c < 0 else [flat.ops + c, flat.ops + flat.collectives + c]
        draft.set_order(items)
        self.start_at(draft)
        if draft.excess == 0:
            self.repair = Repair(flat, order)
        return draft.excess == 0

    def _follow(self, programs: Iterable[Program]) -> None:
        draft = ProgramDraft(self.flat)
        for program in programs:
            for is_eager in (False, True):
                draft.follow(program, is_eager=is_eager)
                self.start_at(draft)

    def run(
        self,
        seed: int,
        programs: Iterable[Program],
        bound: float,
        watchdog: Watchdog,
        effort: int = 1,
        share: float = 1.0,
    ) -> None:
        """Search on, from more programs, too.

        It ends when a share of the changes is used up, the bound is reached, or the watchdog says
        so.
        """
        self._follow(programs)
        items = max(1, self.flat.ops + self.flat.collectives)
        changes = min(_CHANGES, int(share * _ITEMS / items)) * effort
        if items <= _SMALL:
            firsts = [first for _, _, first in self.starts]
            for k in range(_SEEDS):
                first = firsts[k % len(firsts)]
                self._anneal(first, seed * _SEEDS + k, changes // _SEEDS, bound, watchdog)
            return
        if share < _ALONE:
            self._anneal(self.starts[0][2], seed * _SEEDS, changes, bound, watchdog)
            return
        if self.repair is not None and self.fastest.excess:
            relaxed = int(changes * _RELAXED)
            self._relax(seed * _SEEDS, relaxed, bound, watchdog)
            changes -= relaxed
        firsts = [first for _, _, first in self.starts]
        ends = [
            self._anneal(first, seed * _SEEDS, int(changes * _TRIAL), bound, watchdog)
            for first in firsts
        ]
        best = min(range(len(ends)), key=lambda k: (self.energy(ends[k]), k))
        left = changes - len(ends) * int(changes * _TRIAL)
        self._anneal(ends[best], seed * _SEEDS, left, bound, watchdog)

    def _relax(self, seed: int, changes: int, bound: float, watchdog: Watchdog) -> None:
        """Search the fastest start on as if memory had no limit, and repair what that comes to."""
        end = self._anneal(self.fastest, seed, changes, bound, watchdog, pressure=0.0)
        draft = ProgramDraft(self.flat)
        draft.adopt(end)
        self.start_at(draft)

    def _list(self) -> None:
        """Make lists: windows, from the start and the end, of single collectives and of buckets."""
        draft = ProgramDraft(self.flat)
        scheduler = ListScheduler(draft)
        for window in _WINDOWS:
            _by_tail(scheduler)
            scheduler.make(window)
            self.start_at(draft)
            for _ in range(_TURNS):
                _by_end(scheduler)
                scheduler.make(window, backwards=True)
                _by_start(scheduler)
                scheduler.make(window)
                self.start_at(draft)

    def _anneal(
        self,
        first: ProgramDraft,
        seed: int,
        changes: int,
        bound: float,
        watchdog: Watchdog,
        pressure: float = 1.0,
    ) -> ProgramDraft:
        """Anneal from a draft; return where that came to.

        ``pressure`` multiplies what memory above the limit costs.
        """
        if watchdog.cut or self.value <= bound * (1 + 1e-9):
            return first
        annealer = ProgramAnnealer(self.flat, seed)
        annealer.adopt(first)
        annealer.execute(inf)
        annealer.offer()
        annealer.lasting = annealer.value / max(1, annealer.length)
        hot = _HOT[seed % len(_HOT)] * annealer.value / max(1, annealer.length)
        for k in range(_ROUNDS):
            annealer.weight = pressure * _WEIGHT * _HEAVIER ** (k / (_ROUNDS - 1))
            heat = hot * _COLDER ** (-k / _ROUNDS)
            cold = hot * _COLDER ** (-(k + 1) / _ROUNDS)
            left = changes // _ROUNDS
            pieces = max(1, left // _STRETCH)
            for j in range(pieces):
                if watchdog.is_over():
                    break
                ratio = cold / heat
                annealer.run(
                    left // pieces, heat * ratio ** (j / pieces), heat * ratio ** ((j + 1) / pieces)
                )
            self.least_peak = min(self.least_peak, annealer.least_peak)
            if annealer.best_value < inf:
                self.offer(annealer.best)
            if watchdog.cut or self.value <= bound * (1 + 1e-9):
                break
        annealer.execute(inf)
        if pressure and annealer.excess and self.repair is not None:
            repaired = ProgramDraft(self.flat)
            repaired.adopt(annealer)
            self.repair.make(repaired)
            repaired.execute(inf)
            self.offer(repaired)
        return annealer


def _order_of(program: Program) -> list[int]:
    """Return the positions of all ops in the order in which a program asks for them."""
    order: list[int] = []
    for do, what in program.steps:
        if do == COMPUTE:
            order.append(what)
        elif do == LAUNCH:
            order += program.buckets[what]
    return order


def _by_tail(scheduler: ListScheduler) -> None:
    """Urge what has the longest path behind it."""
    draft = scheduler.draft
    flat = draft.flat
    graph = flat.problem.graph
    tail = [0.0] * flat.ops
    for i in reversed(graph.order):
        c = flat.number[i]
        own = flat.duration[i] if c < 0 else draft.cost[draft.home[c]]
        tail[i] = own + max([tail[j] for j in graph.succs[i]], default=0.0)
    for i in range(flat.ops):
        c = flat.number[i]
        item = i if c < 0 else flat.ops + draft.home[c]
        scheduler.urgency[item] = -tail[i]
        scheduler.rank[item] = i


def _by_end(scheduler: ListScheduler) -> None:
    """Urge, from the end, what ended last."""
    for item in range(len(scheduler.urgency)):
        scheduler.urgency[item] = -scheduler.draft.end[item]


def _by_start(scheduler: ListScheduler) -> None:
    """Urge what the list from the end started first: it ended last from there."""
    draft = scheduler.draft
    flat = draft.flat
    for item in range(len(scheduler.urgency)):
        own = flat.duration[item] if item < flat.ops else draft.cost[item - flat.ops]
        scheduler.urgency[item] = -(scheduler.at[item] + own)
