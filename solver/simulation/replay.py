"""An explicit plan as a policy."""

from collections.abc import Iterable, Sequence

from solver.chain import Buckets, Chain
from solver.costs import Cost
from solver.schedule.execute import Launch
from solver.simulation.engine import Policy, Rule, Send
from solver.simulation.rules import in_order


def sends(buckets: Buckets, launches: Iterable[Launch]) -> list[Send]:
    """Name each launch's bucket by its tensors."""
    return [Send(buckets.members[bucket], size) for bucket, size in launches]


def replay(parts: Sequence[Send]) -> Policy:
    """Send these parts in this order, each when its bucket is released and its channel free."""

    def plan(chain: Chain, costs: Sequence[Cost]) -> Sequence[Rule]:
        return in_order(parts, chain)

    return plan
