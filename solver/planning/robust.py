"""Robust plans: chosen by their mean or p95 over costs as wrong as calibrations are.

The best plan for stated costs may be a poor one for the true ones. Here plans for the stated costs,
plans for costs that are off, and what policies launch, now and where costs are off, are simulated
under the same seeded draws of all costs; a local choice among the neighbours of the best one ends
it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Network
from solver.evidence.belief import decided_by
from solver.evidence.doubts import DOUBTS, Doubt, doubted_graph, doubted_network
from solver.evidence.draws import draws_of
from solver.evidence.robustness import Robustness, RobustOptions, RobustRival, measured
from solver.fusion.search import Candidate
from solver.graph import Graph
from solver.limits import MAX_SEARCHED_LAUNCHES
from solver.planning.plan_changes import neighbour
from solver.planning.under_contention import renumbered
from solver.simulation.engine import Deadlock, Policy, iteration_time, launches_under
from solver.simulation.replay import replay
from solver.simulation.rules import slice_count
from solver.units import TOLERANCE, FloatArray, slack

#: The doubts for whose costs a plan is made, too.
_PLANNED = tuple(doubt for doubt in DOUBTS if doubt.startup != 1.0 or doubt.bandwidth != 1.0)

#: Of so many draws, in which rivals gain most, what each policy launches, and a plan for it, are
#: plans to choose from; of the p95 those of the longest times, this share of all draws.
_REGRETTED = 4
_TAIL = 0.2

#: What a local choice looks at: ops and launches, over all draws and moves.
_STEPS = 2_000_000
_MOVES = 400


def most_robust(
    graph: Graph,
    network: Network,
    launches: Sequence[Launch],
    candidates: Sequence[Candidate],
    planned: Callable[[Graph, Network], Sequence[Launch]],
    options: RobustOptions,
) -> tuple[tuple[Launch, ...], Robustness]:
    """Choose launches by a measure of their times over draws of the costs.

    Parameters
    ----------
    graph, network
        As they are stated; a barrier is part of the graph.
    launches
        The plan for these, by the graph's chain.
    candidates
        The policies: rivals, and plans to choose from.
    planned
        Makes a plan for another graph of the same ops and another network, by that one's chain.
    options
        How to choose.

    Returns
    -------
    tuple of Launch, Robustness
        Of the plans to choose from whose measure is at most that of ``launches`` and of every
        policy, that with the least sum of both shares: its measure over that of ``launches``, and
        its time at the stated costs over theirs. Where there is none, which only policies that
        choose by what happens can bring about, the least measure.

    Notes
    -----
    O((candidates + moves) x draws) simulations, and a plan for each of four doubts and four draws;
    O(draws^2) more for each policy that beats what these come to.
    """
    truths = _Truths(graph, network, options)
    rivals = _rivals(graph, network, candidates)
    times = [truths.rule_times(rival.policy) for rival in rivals]
    values = [
        RobustRival(rival.name, truths.measure(each))
        for rival, each in zip(rivals, times, strict=True)
    ]
    plain = truths.tried(tuple(launches))
    judge = _Judge(plain, min([plain.value, *(rival.value_us for rival in values)]))
    choices = [plain.launches]
    hard = truths.regretted(plain.launches, times)
    for doubt in (*_PLANNED, *hard):
        other = doubted_graph(graph, doubt)
        found = planned(other, doubted_network(network, doubt))
        choices.append(renumbered(found, chain_of(other), truths.chain))
    for rival in rivals:
        choices += truths.outcomes(rival.policy, hard)
    best = min(map(truths.tried, dict.fromkeys(choices)), key=judge.rank)
    beating = [
        rival.policy
        for rival, value in zip(rivals, values, strict=True)
        if value.value_us < best.value
    ]
    best = _improved(_unbeaten(best, beating, truths, judge), truths, judge, options.seed)
    return best.launches, Robustness(
        options.measure,
        options.draws,
        options.seed,
        best.value,
        plain.value,
        tuple(values),
        best.nominal / plain.nominal - 1 if plain.nominal > 0 else None,
    )


class _Tried(NamedTuple):
    """Launches, the measure of their times, and their time at the stated costs [us]."""

    launches: tuple[Launch, ...]
    value: float
    nominal: float


class _Judge(NamedTuple):
    """Ranks what was tried: first what is no worse than any rival, then by both shares.

    A share of the measure is worth as much as the same share of the time at the stated costs.
    """

    plain: _Tried
    limit: float

    def rank(self, tried: _Tried) -> tuple[float, float, int]:
        """Return what is less for the better one."""
        above = max(0.0, tried.value - self.limit - slack(self.limit))
        shares = tried.value / (self.plain.value or 1) + tried.nominal / (self.plain.nominal or 1)
        return above, shares, len(tried.launches)


def _rivals(graph: Graph, network: Network, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the policies that do not send more parts than a search looks at; PACE decides once."""
    chain = chain_of(graph)
    return [
        replace(each, policy=replay(launches_under(graph, network, each.policy)))
        if each.name == "pace"
        else each
        for each in candidates
        if each.slice_bytes is None or slice_count(chain, each.slice_bytes) <= MAX_SEARCHED_LAUNCHES
    ]


class _Truths:
    """The draws: what the costs may truly be."""

    def __init__(self, graph: Graph, network: Network, options: RobustOptions) -> None:
        self._graph = graph
        self._network = network
        self._kind = options.measure
        self.chain = chain_of(graph)
        self._drawn = [
            (doubt, doubted_graph(graph, doubt), doubted_network(network, doubt))
            for doubt in draws_of(options.draws, options.seed)
        ]

    def __len__(self) -> int:
        """Count the draws."""
        return len(self._drawn)

    @property
    def draws(self) -> tuple[Doubt, ...]:
        """The draws, in their order."""
        return tuple(doubt for doubt, _, _ in self._drawn)

    def tried(self, launches: tuple[Launch, ...]) -> _Tried:
        """Try launches; those that wait for one another take for ever."""
        try:
            nominal = iteration_time(self._graph, self._network, replay(launches))
            return _Tried(launches, self.measure(self._times(launches)), nominal)
        except Deadlock:
            return _Tried(launches, inf, inf)

    def _times(self, launches: Sequence[Launch]) -> FloatArray:
        """Return the time of launches under each draw [us]."""
        return np.array(
            [
                iteration_time(graph, network, replay(self._on(graph, launches)))
                for _, graph, network in self._drawn
            ]
        )

    def _on(self, graph: Graph, launches: Sequence[Launch]) -> Sequence[Launch]:
        """Turn the graph's indices into those of a drawn one, which rounding alone makes others."""
        other = chain_of(graph)
        if np.array_equal(self.chain.positions, other.positions):
            return launches
        return renumbered(launches, self.chain, other)

    def rule_times(self, policy: Policy) -> FloatArray:
        """Return the times of a policy that decides with the stated costs [us]."""
        return np.array(
            [
                iteration_time(graph, network, self._decided(policy, doubt))
                for doubt, graph, network in self._drawn
            ]
        )

    def regretted(
        self, launches: Sequence[Launch], rivals: Sequence[FloatArray]
    ) -> tuple[Doubt, ...]:
        """Return the draws in which rivals save the largest share of the time of launches."""
        times = self._times(launches)
        least = np.min([times, *rivals], axis=0)
        saved = np.divide(times - least, times, out=np.zeros_like(times), where=times > 0)
        if self._kind == "p95":
            saved[times < np.quantile(times, 1 - _TAIL)] = -1.0
        worst = np.argsort(-saved, kind="stable")[:_REGRETTED].tolist()
        return tuple(self._drawn[place][0] for place in worst)

    def outcomes(self, policy: Policy, hard: Sequence[Doubt]) -> Iterator[tuple[Launch, ...]]:
        """Yield what a policy launches at the stated costs, and under some of the draws."""
        yield launches_under(self._graph, self._network, policy)
        for doubt, graph, network in self._drawn:
            if doubt in hard:
                found = launches_under(graph, network, self._decided(policy, doubt))
                yield renumbered(found, chain_of(graph), self.chain)

    def _decided(self, policy: Policy, doubt: Doubt) -> Policy:
        return decided_by(policy, self._network, 1 / doubt.compute)

    def measure(self, times: FloatArray) -> float:
        """Return the measure of times under the draws [us]."""
        return measured(times, self._kind)


def _unbeaten(best: _Tried, beating: Sequence[Policy], truths: _Truths, judge: _Judge) -> _Tried:
    """Try what policies launch under every draw, until something is no worse than any rival.

    A policy that chooses by what happens sends something else in each draw; of those few is the
    measure as good as its own.
    """
    seen = {best.launches}
    for policy in beating:
        for launches in truths.outcomes(policy, truths.draws):
            if judge.rank(best)[0] == 0:
                return best
            if launches not in seen:
                seen.add(launches)
                best = min(best, truths.tried(launches), key=judge.rank)
    return best


def _improved(best: _Tried, truths: _Truths, judge: _Judge, seed: int) -> _Tried:
    """Take neighbours of a plan that rank better, a fixed number of moves."""
    if not best.launches:
        return best
    random = np.random.Generator(np.random.PCG64(seed))
    rank = judge.rank(best)
    size = (len(best.launches) + len(truths.chain)) * len(truths)
    for _ in range(min(_MOVES, _STEPS // size)):
        other = neighbour(best.launches, truths.chain, random)
        if other is None:
            continue
        tried = truths.tried(other)
        its = judge.rank(tried)
        if its[0] < rank[0] or (its[0] == rank[0] and its[1] + TOLERANCE < rank[1]):
            best, rank = tried, its
    return best
