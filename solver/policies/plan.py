"""An explicit plan as a policy."""

from collections.abc import Iterable, Sequence

from solver.chain import Buckets, Chain
from solver.costs import Cost
from solver.policies.rules import InOrder
from solver.schedule.execute import Launch
from solver.simulate import Policy, Rule, Send


def sends(buckets: Buckets, launches: Iterable[Launch]) -> list[Send]:
    """Name each launch's bucket by its tensors."""
    return [Send(buckets.members[bucket], size) for bucket, size in launches]


def replay(parts: Sequence[Send]) -> Policy:
    """Send these parts in this order, each no earlier than its release and the previous end."""

    def plan(chain: Chain, cost: Cost) -> Rule:
        return InOrder(parts)

    return plan
