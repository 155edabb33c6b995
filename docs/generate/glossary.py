"""The glossary: each term with its sentence, and what policies are called."""

from docs.generate.markdown import table
from solver.glossary import LABELS, TERMS


def glossary() -> str:
    """Write a table of all terms, by the alphabet."""
    return table(["term", "what it means"], sorted(TERMS.items()))


def labels() -> str:
    """Write a table of what policies are called."""
    return table(["label", "name"], [(label, f"`{name}`") for name, label in LABELS.items()])
