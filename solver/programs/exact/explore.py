"""All programs of a small problem: the beginnings of least bound are gone on with first.

A beginning is dropped where another with the same rest ahead is no later, and where no end of it
is faster than the best program known (MODEL.md section 16.6). What is left of least bound says
what nothing is faster than, also where the moves end before all is tried.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from solver.bounds.kinds import EXACT
from solver.evidence.bound import Bound
from solver.programs.exact.prefix import Prefix, Prefixes, bits
from solver.programs.exact.remainder import Remainder
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, HostStep, Program
from solver.units import slack
from solver.watchdog import Watchdog

#: Most ops of a problem that is tried.
_OPS = 16

#: Most beginnings that are made: some 2 s.
_MOVES = 60_000

#: Beginnings gone on with between two looks at the watchdog.
_STRETCH = 200


@dataclass(frozen=True, slots=True)
class Explored:
    """What trying all programs has shown.

    Attributes
    ----------
    bound
        No program takes less.
    program
        One that is faster than the best known before; None where there is none, or none was found.
    is_whole
        Whether all were tried: the program, or else the best known before, is the fastest.
    """

    bound: Bound
    program: Program | None
    is_whole: bool


def explore(
    problem: ProgramProblem,
    best_time: float,
    bound: Bound,
    watchdog: Watchdog,
    moves: int = _MOVES,
) -> Explored:
    """Try all programs of a problem of one stream that has few ops.

    Parameters
    ----------
    best_time
        Of a program that keeps the limits [us]; inf where none is known.
    bound
        What is known before.
    moves
        Most beginnings that are made.

    Notes
    -----
    O(moves * (ops * edges + steps that may be next)).
    """
    if best_time <= bound.value_us + slack(bound.value_us):
        return Explored(bound, None, is_whole=True)
    if len(problem.graph.ops) > _OPS:
        return Explored(bound, None, is_whole=False)
    tree = _Tree(problem, best_time, bound.value_us)
    is_whole = tree.grow(moves, watchdog)
    if tree.least < inf and tree.least > bound.value_us + slack(bound.value_us):
        bound = Bound(EXACT, tree.least)
    found = None if tree.end is None else _program(tree.end)
    return Explored(bound, found, is_whole)


class _Tree:
    """Beginnings that may still become the fastest program.

    Attributes
    ----------
    least
        No program takes less [us].
    end
        The fastest program, where it is faster than the best known before.
    """

    def __init__(self, problem: ProgramProblem, best_time: float, bound: float) -> None:
        self.prefixes = Prefixes(problem)
        self.rest = Remainder(self.prefixes)
        self.least = best_time
        self.enough = best_time - slack(best_time) if best_time < inf else inf
        self.end: Prefix | None = None
        self.made = 0
        self.open: list[tuple[float, int, int, bool, Prefix]] = []
        self.earliest: dict[object, float] = {}
        self.fronts: dict[object, list[tuple[float, ...]]] = {}
        self._keep(bound, self.prefixes.first(), is_sharp=False)

    def grow(self, moves: int, watchdog: Watchdog) -> bool:
        """Go on with what has the least bound; tell whether nothing is left to try."""
        tried = 0
        while self.open:
            value, _, _, is_sharp, prefix = heappop(self.open)
            if prefix.done == self.prefixes.all:
                self.least, self.end = min(self.least, value), prefix
                return True
            if not is_sharp:
                self._keep(max(value, self.rest.full(prefix)), prefix, is_sharp=True)
                continue
            tried += 1
            if self.made >= moves or (tried % _STRETCH == 0 and watchdog.is_over()):
                self.least = min(self.least, value)
                return False
            for longer in self.prefixes.next(prefix):
                self.made += 1
                if self._is_new(longer):
                    self._keep(max(value, self.rest.quick(longer)), longer, is_sharp=False)
        return True

    def _keep(self, value: float, prefix: Prefix, *, is_sharp: bool) -> None:
        """Remember a beginning, unless no end of it is faster than what is known."""
        if value < self.enough:
            entry = value, -prefix.done.bit_count(), len(self.open) + self.made, is_sharp, prefix
            heappush(self.open, entry)
        else:
            self.least = min(self.least, value)

    def _is_new(self, prefix: Prefix) -> bool:
        """Tell whether no beginning with the same rest ahead of it is as early."""
        now, under_way = prefix.time, prefix.under_way
        if self.prefixes.is_roomy(prefix):
            key = prefix.done, tuple((each.members, each.phase) for each in under_way)
            times = now, *(max(each.end, now) for each in under_way)
            front = self.fronts.setdefault(key, [])
            if any(_is_no_later(other, times) for other in front):
                return False
            front[:] = [other for other in front if not _is_no_later(times, other)]
            front.append(times)
            return True
        ahead = tuple(
            (each.members, each.phase, max(each.start - now, 0.0), max(each.end - now, 0.0))
            for each in under_way
        )
        known = self.earliest.get((prefix.done, ahead), inf)
        if known <= now:
            return False
        self.earliest[prefix.done, ahead] = now
        return True


def _is_no_later(times: tuple[float, ...], others: tuple[float, ...]) -> bool:
    return all(time <= other for time, other in zip(times, others, strict=True))


def _program(end: Prefix) -> Program:
    """Return the program that a beginning with nothing ahead of it is."""
    pieces = []
    here: Prefix | None = end
    while here is not None:
        pieces.append(here.steps)
        here = here.parent
    places: dict[int, int] = {}
    steps = []
    for do, what in (step for piece in reversed(pieces) for step in piece):
        at = what if do == COMPUTE else places.setdefault(what, len(places))
        steps.append(HostStep(do, at))
    return Program(tuple(tuple(bits(members)) for members in places), tuple(steps))
