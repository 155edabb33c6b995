"""A lower bound where channels share a network card.

All other bounds hold as they are: they take a launch to last as long as it does by itself, at
least. This one counts what the channels of a card carry one byte after the other. While m launches
are past their start-up each proceeds at 1/m, so all together take the card's time at the rate of
one: the bytes of a set J of tensors, as long as they take by themselves, one after another, between
the first start-up after J's first release and J's least tail before the end (MODEL.md section 5.2).
"""

from collections.abc import Sequence

import numpy as np

from solver.bounds.chain import LowerBound
from solver.bounds.kinds import SHARED
from solver.chain import Chain, chain_of, lane_bytes
from solver.costs import Cost, Network
from solver.graph import Graph
from solver.simulation.contention import contention_of, startup_of
from solver.simulation.engine import costs_of


def with_cards(bound: LowerBound, graph: Graph, network: Network) -> LowerBound:
    """Return the better of a bound and the one of the cards that channels share.

    O(n^2) for n tensors.
    """
    chain, cards = chain_of(graph), contention_of(graph, network).cards
    costs = costs_of(chain, network)
    channel = np.array([-1 if card is None else card for card in cards])
    for card in range(1 + int(channel.max(initial=-1))):
        members = np.flatnonzero(channel[list(chain.channel)] == card)
        bound = _of_card(bound, chain, members.tolist(), costs)
    return bound


def _of_card(
    best: LowerBound, chain: Chain, members: Sequence[int], costs: Sequence[Cost]
) -> LowerBound:
    """Rho + a start-up + bytes of each lane with r >= rho and q >= Q + Q over all rho and Q."""
    least = [
        cost.stretch(0.0, 1.0).least(total)
        for cost, total in zip(costs, lane_bytes(chain), strict=True)
    ]
    startups = np.array([startup_of(cost).time(1) for cost in costs])
    lanes = np.array(chain.lane)
    tensors = np.array(members)[::-1]  # the chain is by release
    for q in np.unique(chain.tail[tensors]).tolist():
        some = tensors[chain.tail[tensors] >= q]
        lane = lanes[some]
        values = chain.release[some] + np.minimum.accumulate(startups[lane]) + q
        for k in np.unique(lane).tolist():
            values += least[k](np.cumsum(np.where(lane == k, chain.bytes[some], 0)))
        i = int(values.argmax())
        if values[i] > best.value:
            members_after = tuple(sorted(some[: i + 1].tolist()))
            release = float(chain.release[some[i]])
            best = LowerBound(float(values[i]), SHARED, members_after, release, q)
    return best
