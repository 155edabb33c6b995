"""A lower bound for layered chains: the largest of the channels'."""

from collections.abc import Sequence
from dataclasses import replace

from solver.bounds.chain import LowerBound, lower_bound
from solver.chain import Chain, on_channel, picked
from solver.costs import Cost


def bound_of(chain: Chain, costs: Sequence[Cost]) -> LowerBound:
    """Return the largest bound of the channels, for any fusion, partition and order."""
    best: LowerBound | None = None
    for channel, cost in zip(chain.channels, costs, strict=True):
        kept = on_channel(chain, channel)
        found = lower_bound(picked(chain, kept), cost)
        if best is None or found.value > best.value:
            best = replace(found, members=tuple(kept[i] for i in found.members))
    assert best is not None, "a graph has a collective"
    return best
