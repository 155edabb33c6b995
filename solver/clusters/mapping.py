"""Which nodes a job runs on, and which rank on which of them: found by moves from today's rules."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf
from random import Random

import numpy as np

from solver.clusters.joined import joined_nodes
from solver.clusters.mapping_bound import least_step_us
from solver.clusters.rules import RULES
from solver.clusters.wiring import Wiring
from solver.clusters.workloads import Workload
from solver.units import FloatArray, IntArray, same

#: Moves that a search tries where nobody says.
MOVES = 400
#: So many moves that are no better, or four for each slot, and the search goes on elsewhere.
_PATIENCE = 25


@dataclass(frozen=True, slots=True)
class Mapping:
    """Slots of a job on nodes.

    Attributes
    ----------
    nodes
        Positions of nodes, slot by slot: ranks ``k * slot_gpus`` and on are on the k-th.
    time_us
        Time of a step [us]; inf where two of its nodes are not joined.
    gbps
        Bandwidth of each group's slowest flow that leaves its node [Gbit/s]; inf for none.
    load
        What its flows take of all links, by which mappings as fast are told apart.
    """

    nodes: tuple[int, ...]
    time_us: float
    gbps: tuple[float, ...]
    load: float

    @property
    def key(self) -> tuple[float, float]:
        """By which mappings are ranked: time, and then what they leave to others."""
        return self.time_us, self.load


@dataclass(frozen=True, slots=True)
class FoundMapping:
    """The best mapping of a search, with what it was compared with.

    Attributes
    ----------
    best
        The mapping.
    lower_bound_us
        No mapping onto the free nodes has a shorter step [us].
    rivals
        What each rule of today gives, by name; with nodes that are given, in the order of the rule.
    moves
        Mappings that were tried.
    """

    best: Mapping
    lower_bound_us: float
    rivals: tuple[tuple[str, Mapping], ...]
    moves: int


@dataclass
class MappingJudge:
    """Times mappings of one job, each bandwidth once."""

    wiring: Wiring
    job: Workload
    left: tuple[FloatArray, ...] | None = None
    known: dict[tuple[float, ...], float] = field(default_factory=dict)

    def __call__(self, nodes: IntArray) -> Mapping:
        """Return the mapping of slots onto nodes with its time."""
        shares = [self.wiring.share(group, nodes, self.left) for group in self.job.groups]
        gbps = tuple(share.gbps for share in shares)
        load = sum(share.load for share in shares)
        if 0.0 in gbps:
            return Mapping(tuple(nodes.tolist()), inf, gbps, inf)
        if gbps not in self.known:
            self.known[gbps] = self.job.step_us(self.wiring.topology, gbps)
        return Mapping(tuple(nodes.tolist()), self.known[gbps], gbps, load)


def find_mapping(
    judge: MappingJudge,
    free: IntArray,
    moves: int = MOVES,
    seed: int = 0,
    bound: float | None = None,
) -> FoundMapping:
    """Search which of the free nodes a job takes, and which rank is on which.

    Begins with the rules of today, and with nodes that links of each capacity or more join: the
    best of these is the best mapping of a single ring. Keeps the best and moves from it: two slots
    change places, a slot goes to a node that is not used, a run of slots is turned round or goes
    elsewhere. A move is kept when the step is shorter, or as long with less load on links; after
    many moves that are not, it goes on from a mapping that is drawn. So it is never worse than any
    rule, and it ends early at the bound.

    Parameters
    ----------
    judge
        Topology and job.
    free
        Positions of the nodes that the job may take, at least as many as it has slots.
    moves
        Mappings to try, beside those of the rules.
    seed
        Of the moves; the same answers the same.
    bound
        What no mapping is faster than [us], of these nodes or of more; None to work it out.

    Notes
    -----
    O(moves * flows * heights), and a prediction for each bandwidth that comes up.
    """
    slots = judge.job.slots
    rules = RULES if len(free) > slots else {name: RULES[name] for name in _ORDERS}
    rivals = [(name, judge(rule(judge.wiring, slots, free))) for name, rule in rules.items()]
    least = least_step_us(judge.wiring, judge.job, free) if bound is None else bound
    best = min((mapping for _, mapping in rivals), key=lambda mapping: mapping.key)
    for nodes in joined_nodes(judge.wiring, slots, free):
        if best.time_us <= least or same(best.time_us, least):
            break
        best = min(best, judge(nodes), key=lambda mapping: mapping.key)
    tried = since = 0
    here, spare = best, _spare(best, free)
    random = Random(seed)  # noqa: S311 - a search, not a secret
    for move in _moves(slots, len(spare), moves, random):
        if best.time_us <= least or same(best.time_us, least):
            break
        tried += 1
        if since >= max(_PATIENCE, 4 * slots):
            nodes, rest = _drawn(slots, free, random)
            here, spare, since = judge(nodes), rest, 0
        else:
            nodes, rest = move(np.array(here.nodes), spare)
            mapping = judge(nodes)
            since += 1
            if mapping.key < here.key:
                here, spare, since = mapping, rest, 0
        best = min(best, here, key=lambda mapping: mapping.key)
    return FoundMapping(best, min(least, best.time_us), tuple(rivals), tried)


def _spare(mapping: Mapping, free: IntArray) -> IntArray:
    """Return the free nodes that a mapping does not use."""
    used = set(mapping.nodes)
    return np.array([at for at in free.tolist() if at not in used], dtype=np.int64)


def _drawn(slots: int, free: IntArray, random: Random) -> tuple[IntArray, IntArray]:
    """Draw a mapping, and return the nodes that it does not use with it."""
    order = np.array(random.sample(free.tolist(), len(free)), dtype=np.int64)
    return order[:slots], order[slots:]


#: The rules that differ in their order where a job takes all nodes.
_ORDERS = ("by_number", "packed")

_Move = Callable[[IntArray, IntArray], tuple[IntArray, IntArray]]


def _moves(slots: int, spare: int, count: int, random: Random) -> Iterator[_Move]:
    """Yield moves of slots and of nodes that are not used."""
    for _ in range(count if slots > 1 or spare else 0):
        one, two = random.randrange(slots), random.randrange(slots)
        sort = random.randrange(4 if spare else 3)
        low, high = min(one, two), max(one, two) + 1
        if sort == 0:
            yield partial(_beside_spare, partial(_swapped, one=one, two=two))
        elif sort == 1:
            yield partial(_beside_spare, partial(_turned, low=low, high=high))
        elif sort == 2:  # noqa: PLR2004 - the third of the moves
            to = random.randrange(slots)
            yield partial(_beside_spare, partial(_moved, low=low, high=high, to=to))
        else:
            other = random.randrange(spare)
            yield partial(_exchanged, slot=one, other=other)


def _beside_spare(
    order: Callable[[IntArray], IntArray], nodes: IntArray, spare: IntArray
) -> tuple[IntArray, IntArray]:
    return order(nodes), spare


def _swapped(nodes: IntArray, one: int, two: int) -> IntArray:
    nodes[[one, two]] = nodes[[two, one]]
    return nodes


def _turned(nodes: IntArray, low: int, high: int) -> IntArray:
    nodes[low:high] = nodes[low:high][::-1].copy()
    return nodes


def _moved(nodes: IntArray, low: int, high: int, to: int) -> IntArray:
    run, others = nodes[low:high], np.concatenate((nodes[:low], nodes[high:]))
    at = min(to, len(others))
    return np.concatenate((others[:at], run, others[at:]))


def _exchanged(
    nodes: IntArray, spare: IntArray, slot: int, other: int
) -> tuple[IntArray, IntArray]:
    rest = spare.copy()
    nodes[slot], rest[other] = spare[other], nodes[slot]
    return nodes, rest
