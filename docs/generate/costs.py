"""The algorithms that a cluster may name, and the fields that they read."""

import json

from app.openapi import document
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
    return fields(json.loads(document())["components"]["schemas"]["ClusterBody"])
