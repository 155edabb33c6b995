"""Policies for a reader: what people call them, and the parameters that are not the defaults."""

from solver.glossary import label
from solver.policies.choice import Choice, defaults


def titled(policy: str, parameters: dict[str, bool | int | float]) -> str:
    """Name a policy, and parameters that are not the defaults."""
    usual = defaults(policy)
    apart = [f"{k}={_shown(v)}" for k, v in parameters.items() if v != usual.get(k)]
    return ", ".join([label(policy), *apart])


def _shown(value: float) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}"


def title_of(choice: Choice) -> str:
    """Name a policy as a request does."""
    numbers = {k: v for k, v in choice.parameters if not isinstance(v, str)}
    return titled(choice.policy, numbers)
