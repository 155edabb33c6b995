"""The algorithms that a cluster may name, and the fields that they read."""

from docs.generate.api import objects
from docs.generate.markdown import sections
from docs.generate.requests import fields
from solver.costs.algorithms import ALGORITHMS


def algorithms() -> str:
    """Write a section for each algorithm."""
    return "\n\n".join(
        f"### `{name}`\n\n{sections(cost.__doc__)['']}" for name, cost in ALGORITHMS.items()
    )


def cluster_fields() -> str:
    """Write the fields of a cluster."""
    return fields(objects()["ClusterBody"])
