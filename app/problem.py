"""What is to be planned, checked: the one thing that the service and the command both solve."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from app.requests import ClusterBody, OptionsBody
from solver.graph import COMPUTE, Graph, Op


@dataclass(frozen=True, slots=True)
class Problem:
    """A checked graph on a checked cluster, and how to plan it."""

    graph: Graph
    cluster: ClusterBody
    options: OptionsBody

    def to_json(self) -> dict[str, Any]:
        """Return the request that states this problem, defaults filled in."""
        return {
            "graph": graph_json(self.graph),
            "cluster": self.cluster.model_dump(mode="json"),
            "options": self.options.model_dump(mode="json"),
        }


def graph_json(graph: Graph) -> dict[str, Any]:
    """Return a graph as it is posted."""
    return {"name": graph.name, "ops": [_op_json(op) for op in graph.ops]}


def graph_sha256(graph: Graph) -> str:
    """Hash a graph: SHA-256 of its JSON, keys sorted, no spaces, ASCII."""
    text = json.dumps(graph_json(graph), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _op_json(op: Op) -> dict[str, Any]:
    if op.kind == COMPUTE:
        size: dict[str, Any] = {"duration_us": float(op.duration_us or 0)}
    else:
        size = {"bytes": op.bytes}
    return {"id": op.id, "kind": op.kind, **size, "after": list(op.after)}
