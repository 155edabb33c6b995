"""The kinds of lower bounds."""

from docs.generate.markdown import table
from solver.bounds.kinds import kind_sentences


def bound_kinds() -> str:
    """Write a table of all kinds, each with what attains it."""
    return table(
        ["`bound.kind`", "what attains it"], [(f"`{k}`", why) for k, why in kind_sentences()]
    )
