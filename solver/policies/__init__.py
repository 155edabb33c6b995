"""What runs today: each policy a function of chain and cost, all in the one simulator."""

from solver.policies.pace import pace
from solver.policies.wfbp import wfbp
from solver.simulate import Policy

#: The policies by name; add one here.
POLICIES: dict[str, Policy] = {"wfbp": wfbp, "pace": pace}

__all__ = ["POLICIES", "pace", "wfbp"]
