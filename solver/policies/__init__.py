"""What runs today: each policy a function of chain and costs, all in the one simulator.

Parameters of a policy are keywords with defaults, their ranges in :mod:`solver.policies.choice`.
"""

from solver.policies.ada_fusion import ada_fusion
from solver.policies.bytescheduler import bytescheduler
from solver.policies.ddp import ddp, ddp_priority
from solver.policies.horovod import horovod
from solver.policies.mg_wfbp import mg_wfbp
from solver.policies.p3 import p3
from solver.policies.pace import pace
from solver.policies.single import single
from solver.policies.tictac import tictac
from solver.policies.wfbp import wfbp
from solver.simulation.engine import Policy

#: The policies by name; add one here.
POLICIES: dict[str, Policy] = {
    "wfbp": wfbp,
    "single": single,
    "horovod": horovod,
    "ddp": ddp,
    "ddp_priority": ddp_priority,
    "tictac": tictac,
    "p3": p3,
    "bytescheduler": bytescheduler,
    "mg_wfbp": mg_wfbp,
    "ada_fusion": ada_fusion,
    "pace": pace,
}

__all__ = ["POLICIES", "pace", "wfbp"]
