"""An explicit plan as a policy."""

from collections.abc import Sequence

from solver.buckets import Launch
from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Policy, Rule
from solver.simulation.rules import in_order


def replay(launches: Sequence[Launch]) -> Policy:
    """Launch in this order, each when its bucket is released and its channel free."""

    def policy(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
        return in_order(launches, chain)

    return policy
