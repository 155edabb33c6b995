"""The search: list rules forwards and backwards, then annealing from the best of them."""

from collections.abc import Callable, Iterable
from math import inf

from solver.programs.policies.least_memory import least_memory, least_memory_within
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.search.anneal import ProgramAnnealer
from solver.programs.search.draft import ProgramDraft
from solver.programs.search.flat import Flat
from solver.programs.search.list_scheduler import ListScheduler
from solver.watchdog import Watchdog

#: How many compute ops a list rule looks ahead: 1 keeps the given order, the last looks at all.
_WINDOWS = (1, 20, 60, 200, 1 << 30)

#: How often a list is made from the end and from the start again.
_TURNS = 3

#: Items executed by one search, whatever their number: some 4 s on a core where it is compiled.
_ITEMS = 150_000_000

#: The most changes of one search; a small problem is searched from several seeds.
_CHANGES = 400_000

#: So many, for a problem of at most so many items.
_SEEDS, _SMALL = 8, 500

#: From so many starts a larger problem is searched with this share of the changes, then on from
#: where the best came to.
_TRIED, _TRIAL = 3, 0.15

#: Changes between two looks at the watchdog.
_STRETCH = 2_000

#: Rounds of changes, each colder than the one before.
_ROUNDS = 12

#: The first temperature from seed to seed, in times of an item in the mean; the last is so much
#: colder.
_HOT, _COLDER = (0.02, 1.0, 0.2, 3.0), 30.0

#: So much of the time is what memory twice the limit costs.
_PRICE = 3.0

#: And so much is what each doubling of the bytes above the limit costs.
_STEP = 0.002


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

    def offer(self, draft: ProgramDraft) -> None:
        """Take a draft that was executed, where it is the best so far."""
        self.least_peak = min(self.least_peak, draft.peak)
        if draft.excess == 0 and (draft.value, draft.peak) < (self.value, self.peak):
            self.value, self.peak = draft.value, draft.peak
            self.best = draft.program()
            self.report(self.best, draft.value)

    def start_at(self, draft: ProgramDraft) -> None:
        """Execute a draft, and remember it as one to begin with."""
        draft.execute(inf)
        self.offer(draft)
        kept = ProgramDraft(self.flat)
        kept.adopt(draft)
        self.starts.append((self.energy(draft), len(self.starts), kept))

    def energy(self, draft: ProgramDraft) -> float:
        """Time and, at its price, memory above the limit [us]."""
        return draft.value * (1 + _PRICE * draft.excess / max(1, self.flat.memory))

    def begin(self, programs: Iterable[Program]) -> None:
        """Begin with programs, and with lists: a first answer in a small part of the time."""
        self._follow(programs)
        self._list()
        if self.best is None:
            self._follow([least_memory(self.flat.problem)])
        if self.best is None:
            found = least_memory_within(self.flat.problem, self.flat.memory)
            self._follow(() if found is None else (found,))

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
        self.starts.sort(key=lambda start: start[:2])
        firsts = [first for _, _, first in self.starts[:_TRIED]]
        if items <= _SMALL:
            for k in range(_SEEDS):
                first = firsts[k % len(firsts)]
                self._anneal(first, seed * _SEEDS + k, changes // _SEEDS, bound, watchdog)
            return
        ends = [
            self._anneal(first, seed * _SEEDS, int(changes * _TRIAL), bound, watchdog)
            for first in firsts
        ]
        best = min(range(len(ends)), key=lambda k: (self.energy(ends[k]), k))
        left = changes - len(ends) * int(changes * _TRIAL)
        self._anneal(ends[best], seed * _SEEDS, left, bound, watchdog)

    def _list(self) -> None:
        """Make lists: windows, from the start and the end, of single collectives and of buckets."""
        draft = ProgramDraft(self.flat)
        lister = ListScheduler(draft)
        for window in _WINDOWS:
            _by_tail(lister)
            lister.make(window)
            self.start_at(draft)
            for _ in range(_TURNS):
                _by_end(lister)
                lister.make(window, backwards=True)
                _by_start(lister)
                lister.make(window)
                self.start_at(draft)

    def _anneal(
        self,
        first: ProgramDraft,
        seed: int,
        changes: int,
        bound: float,
        watchdog: Watchdog,
    ) -> ProgramDraft:
        """Anneal from a draft; return where that came to."""
        if watchdog.cut or self.value <= bound * (1 + 1e-9):
            return first
        annealer = ProgramAnnealer(self.flat, seed)
        annealer.adopt(first)
        annealer.execute(inf)
        annealer.offer()
        annealer.price = _PRICE * annealer.value / max(1, self.flat.memory)
        annealer.step = _STEP * annealer.value
        hot = _HOT[seed % len(_HOT)] * annealer.value / max(1, annealer.length)
        for k in range(_ROUNDS):
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
        return annealer


def _by_tail(lister: ListScheduler) -> None:
    """Urge what has the longest path behind it."""
    draft = lister.draft
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
        lister.urgency[item] = -tail[i]
        lister.rank[item] = i


def _by_end(lister: ListScheduler) -> None:
    """Urge, from the end, what ended last."""
    for item in range(len(lister.urgency)):
        lister.urgency[item] = -lister.draft.end[item]


def _by_start(lister: ListScheduler) -> None:
    """Urge what the list from the end started first: it ended last from there."""
    draft = lister.draft
    flat = draft.flat
    for item in range(len(lister.urgency)):
        own = flat.duration[item] if item < flat.ops else draft.cost[item - flat.ops]
        lister.urgency[item] = -(lister.at[item] + own)
