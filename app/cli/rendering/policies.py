"""Policies for a reader: their titles, and the parameters that are not the defaults."""

from solver.policies.choice import Choice, defaults

#: What policies are called for a reader, where their names do not say it.
TITLES = {
    "wfbp": "FIFO (wfbp)",
    "single": "no overlap (single)",
    "horovod": "Horovod",
    "ddp": "PyTorch DDP",
    "ddp_priority": "DDP buckets, by priority",
    "tictac": "TicTac",
    "p3": "P3",
    "bytescheduler": "ByteScheduler",
    "mg_wfbp": "MG-WFBP",
    "ada_fusion": "adaFusion (OSF)",
    "pace": "PACE (maxmin, jackson)",
}


def titled(policy: str, parameters: dict[str, bool | int | float]) -> str:
    """Name a policy, and parameters that are not the defaults."""
    usual = defaults(policy)
    apart = [f"{k}={_shown(v)}" for k, v in parameters.items() if v != usual.get(k)]
    return ", ".join([TITLES.get(policy, policy), *apart])


def _shown(value: float) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}"


def title_of(choice: Choice) -> str:
    """Name a policy as a request does."""
    numbers = {k: v for k, v in choice.parameters if not isinstance(v, str)}
    return titled(choice.policy, numbers)
