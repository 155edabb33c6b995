"""What one thing under way takes from another: compute beside launches, launches on one card.

A compute op proceeds at 1 / (the largest of the factors by which the channels that carry slow it
down): those that it states, or the network's for all channels where it states none. A launch on a
card that several channels share is its start-up, the least time of a launch, and then its bytes,
which proceed at 1/m while m launches of the card are so far (MODEL.md sections 2.3 and 2.4). The
bytes of a launch whose channel crosses links share these (section 2.7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import NamedTuple

from solver.chain import chain_of
from solver.costs import Cost, Network, scale
from solver.graph import COMPUTE, Graph, Op
from solver.graph.ranks import rank_of, ranks_of_channels
from solver.simulation.clock import SharedProgress
from solver.simulation.fair_flows import FairFlows
from solver.units import bytes_per_us

#: What an op states of its slowdowns.
Statement = tuple[tuple[str, float], ...] | None


@dataclass(frozen=True, slots=True)
class Contention:
    """What slows what down in an iteration.

    Attributes
    ----------
    factors
        Of each sort of compute op how many times as long it takes while each channel carries, in
        the order of the chain's channels, at least 1.
    sorts
        The sort of each op, by position.
    cards
        Of each channel the number of the card that it shares with another one, or None.
    paths
        Of each channel the numbers of the links that its launches cross.
    capacities
        Of each link [bytes/us].
    classes
        Of each channel; on links higher ones are served first.
    slowed
        Of each channel how many times as long its launches' bytes take while a rank of theirs
        computes, at least 1.
    ranks
        Of each channel that is slowed the numbers of its ranks.
    rank
        Of each op the number of its rank, by position; empty where no channel is slowed.
    """

    factors: tuple[tuple[float, ...], ...]
    sorts: tuple[int, ...]
    cards: tuple[int | None, ...]
    paths: tuple[tuple[int, ...], ...]
    capacities: tuple[float, ...]
    classes: tuple[int, ...]
    slowed: tuple[float, ...]
    ranks: tuple[tuple[int, ...], ...]
    rank: tuple[int, ...]

    @property
    def is_shared(self) -> tuple[bool, ...]:
        """Of each channel whether the time of its launches depends on what else is under way."""
        own = zip(self.cards, self.paths, self.slowed, strict=True)
        return tuple(card is not None or bool(path) or slowed > 1 for card, path, slowed in own)

    @property
    def is_any(self) -> bool:
        """Whether anything can slow anything down."""
        return any(self.is_shared) or any(
            factor > 1 for factors in self.factors for factor in factors
        )


def contention_of(graph: Graph, network: Network) -> Contention:
    """Find what slows what down; channels that carry nothing slow nothing down.

    O(channels x different statements); what ops state is collected once for a graph, in O(ops).
    """
    channels = chain_of(graph).channels
    statements, sorts = _statements(graph)
    factors = tuple(
        _factors(statement, channels, network.compute_slowdown) for statement in statements
    )
    card_of = dict(network.cards)
    cards = [card_of.get(channel) for channel in channels]
    shared = [card for card in dict.fromkeys(cards) if card is not None and cards.count(card) > 1]
    numbers = {card: number for number, card in enumerate(shared)}
    crossing = {each.channel: each for each in network.crossings}
    paths = [crossing[channel].path if channel in crossing else () for channel in channels]
    capacity = dict(network.links)
    links = {name: number for number, name in enumerate(dict.fromkeys(chain(*paths)))}
    return Contention(
        factors,
        sorts,
        tuple(None if card is None else numbers.get(card) for card in cards),
        tuple(tuple(links[name] for name in path) for path in paths),
        tuple(bytes_per_us(capacity[name]) for name in links),
        tuple(crossing[channel].priority if channel in crossing else 0 for channel in channels),
        *_slowed(graph, channels, dict(network.launch_slowdowns)),
    )


def _slowed(
    graph: Graph, channels: Sequence[str], factors: Mapping[str, float]
) -> tuple[tuple[float, ...], tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return the slowdown of each channel's launches, its ranks, and the rank of each op."""
    if not any(channel in factors for channel in channels):
        return (1.0,) * len(channels), ((),) * len(channels), ()
    names = [rank_of(op) for op in graph.ops]
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    ranks = ranks_of_channels(graph, factors)
    return (
        tuple(factors.get(channel, 1.0) for channel in channels),
        tuple(tuple(sorted(number[name] for name in ranks.get(c, ()))) for c in channels),
        tuple(number[name] for name in names),
    )


def is_contended(graph: Graph, network: Network) -> bool:
    """Tell whether anything of an iteration can slow anything else down."""
    is_stated = _statements(graph)[0] != (None,)
    if network.compute_slowdown == 1 and not is_stated and not network.shares_any:
        return False
    return contention_of(graph, network).is_any


def common_slowdown(graph: Graph, network: Network) -> float | None:
    """Return how much any channel slows any op down, 1 for not at all; None where ops differ.

    There is none either where channels share a card, or links.
    """
    if not is_contended(graph, network):
        return 1.0
    is_common = _statements(graph)[0] == (None,) and not network.shares_any
    return network.compute_slowdown if is_common else None


def without_slowdowns(graph: Graph) -> Graph:
    """Return the graph with ops that state nothing."""
    if _statements(graph)[0] == (None,):
        return graph
    return replace(graph, ops=tuple(op._replace(slowdown=None) for op in graph.ops))


def without_idle_slowdowns(ops: Sequence[Op]) -> Sequence[Op]:
    """Leave out what ops state of channels that carry nothing, as a graph must not have it."""
    carrying = {op.channel for op in ops if op.kind != COMPUTE}
    if all(channel in carrying for op in ops for channel, _ in op.slowdown or ()):
        return ops
    return [
        op._replace(slowdown=tuple(each for each in op.slowdown or () if each[0] in carrying))
        if op.slowdown
        else op
        for op in ops
    ]


def startup_of(cost: Cost) -> Cost:
    """Return the part of a cost that a card's other launches do not make longer."""
    return scale(cost, bandwidth=inf)


def _statements(graph: Graph) -> tuple[tuple[Statement, ...], tuple[int, ...]]:
    """Return the different statements of the compute ops, and which one each op makes."""
    found: tuple[tuple[Statement, ...], tuple[int, ...]] | None = graph.memo.get("slowdowns")
    if found is None:
        number: dict[Statement, int] = {}
        sorts = tuple(
            number.setdefault(op.slowdown, len(number)) if op.kind == COMPUTE else 0
            for op in graph.ops
        )
        found = graph.memo["slowdowns"] = tuple(number), sorts
    return found


def _factors(statement: Statement, channels: Sequence[str], otherwise: float) -> tuple[float, ...]:
    if statement is None:
        return (otherwise,) * len(channels)
    stated = dict(statement)
    return tuple(stated.get(channel, 1.0) for channel in channels)


class SentAlone(NamedTuple):
    """A launch that shares a card or links: what it takes alone [us].

    Attributes
    ----------
    startup, rest
        Until its bytes are sent, and for these.
    end
        When it would end alone.
    rate
        Bytes that cross each link in a microsecond, alone.
    """

    startup: float
    rest: float
    end: float
    rate: float


class UnderWay:
    """What is under way at a speed that changes: compute ops, and launches on cards and links.

    Each call is at the time of the one before or later, and not after :attr:`next_end`. O(log n)
    each for n things under way, and a look at each card and each sort of op that is under way.

    Parameters
    ----------
    contention
        What slows what down.
    """

    __slots__ = (
        "_bytes",
        "_carrying",
        "_compute",
        "_computing",
        "_contention",
        "_counted",
        "_flows",
        "_on_rank",
        "_sent",
        "_slowest",
        "_speeds",
        "_startups",
        "next_end",
    )

    def __init__(self, contention: Contention) -> None:
        self._contention = contention
        self._slowest = [max(factors, default=1.0) for factors in contention.factors]
        self._carrying: set[int] = set()  # channels
        self._speeds: dict[int, float] = {}  # of sorts, while the same channels carry
        self._startups = SharedProgress(1.0)  # of launches, by channel
        self._sent: dict[int, SentAlone] = {}  # these, by channel
        self._flows = FairFlows(contention.paths, contention.capacities, contention.classes)
        self._bytes: dict[
            int, tuple[SharedProgress, set[int]]
        ] = {  # of each card, with its channels
            card: (SharedProgress(1.0), set()) for card in contention.cards if card is not None
        }
        self._compute: dict[int, SharedProgress] = {}  # of each sort that is under way
        self._computing = [0] * (max(contention.rank, default=-1) + 1)  # ops under way, by rank
        self._counted: set[int] = set()  # these ops
        self._on_rank: list[list[int]] = [[] for _ in self._computing]  # channels that it slows
        for channel, ranks in enumerate(contention.ranks):
            for rank in ranks:
                self._on_rank[rank].append(channel)
        #: When the next thing ends at the present speeds [us]; inf when nothing is under way.
        self.next_end = inf

    def compute(self, op: int, duration: float, now: float) -> None:
        """Begin a compute op of so long at full speed [us]."""
        sort = self._contention.sorts[op]
        clock = self._compute.get(sort)
        if clock is None:
            clock = self._compute[sort] = SharedProgress(self._speed(sort))
        clock.begin(op, self._slowest[sort] * duration, now)
        if self._computing and duration > 0:
            self._counted.add(op)
            self._count(self._contention.rank[op], 1, now)
            self._look()
        self.next_end = min(self.next_end, clock.next_end)

    def carry(self, channel: int, now: float) -> None:
        """Have a channel carry from now on."""
        self._carrying.add(channel)
        self._set_speeds(now)

    def send(self, channel: int, sent: SentAlone, now: float) -> None:
        """Begin a launch on a channel of a shared card, or one that crosses links."""
        self._startups.begin(channel, sent.startup, now)
        self._sent[channel] = sent
        self._look()

    def free(self, channel: int, now: float) -> None:
        """Have a channel carry nothing from now on."""
        self._carrying.remove(channel)
        self._set_speeds(now)

    def pop(self) -> int | None:
        """Return what ends next: an op, a launch as -1 - its channel, or None: a start-up."""
        ended = self._pop()
        self._look()
        return ended

    def _pop(self) -> int | None:
        now = self.next_end
        if self._startups.next_end == now:
            _, channel = self._startups.pop()
            self._send_bytes(channel, now)
            return None
        if self._flows.next_end == now:
            return -1 - self._flows.pop()
        for clock, _ in self._bytes.values():
            if clock.next_end == now:
                _, channel = clock.pop()
                self._share(channel, now, comes=False)
                return -1 - channel
        sort, clock = next(each for each in self._compute.items() if each[1].next_end == now)
        _, op = clock.pop()
        if clock.next_end == inf:
            del self._compute[sort]
        if op in self._counted:
            self._counted.remove(op)
            self._count(self._contention.rank[op], -1, now)
        return op

    def _count(self, rank: int, more: int, now: float) -> None:
        """Have a rank compute so many more ops, and its launches at the speed that this leaves."""
        before = self._computing[rank]
        self._computing[rank] += more
        if not before or not self._computing[rank]:
            for channel in self._on_rank[rank]:
                self._flows.slow(channel, self._most(channel), now)

    def _most(self, channel: int) -> float:
        """Return the largest speed of a channel's launch, 1 unless a rank of it computes."""
        slowed = any(self._computing[rank] for rank in self._contention.ranks[channel])
        return 1 / self._contention.slowed[channel] if slowed else 1.0

    def _send_bytes(self, channel: int, now: float) -> None:
        if self._contention.cards[channel] is None:
            sent = self._sent.pop(channel)
            self._flows.begin(channel, sent.rest, sent.rate, self._most(channel), (now, sent.end))
        else:
            self._share(channel, now, comes=True)

    def _share(self, channel: int, now: float, *, comes: bool) -> None:
        """Give all launches of a card equal shares, with one more or less."""
        card = self._contention.cards[channel]
        assert card is not None, "only these launches are on a clock"
        clock, sending = self._bytes[card]
        if comes:
            sending.add(channel)
        else:
            sending.remove(channel)
        clock.set_speed(1 / max(1, len(sending)), now)
        if comes:
            clock.begin(channel, self._sent.pop(channel).rest, now)

    def _set_speeds(self, now: float) -> None:
        self._speeds.clear()
        for sort, clock in self._compute.items():
            clock.set_speed(self._speed(sort), now)
        self._look()

    def _speed(self, sort: int) -> float:
        """Return what a sort gets done in a microsecond: 1 where it is slowed down most."""
        speed = self._speeds.get(sort)
        if speed is None:
            factors = self._contention.factors[sort]
            slowdown = max([factors[channel] for channel in self._carrying], default=1.0)
            speed = self._speeds[sort] = self._slowest[sort] / slowdown
        return speed

    def _look(self) -> None:
        """Find the next end."""
        first = min(self._startups.next_end, self._flows.next_end)
        for clock, _ in self._bytes.values():
            first = min(first, clock.next_end)
        for clock in self._compute.values():
            first = min(first, clock.next_end)
        self.next_end = first
