"""Certificates: the proof of a plan as a file that a stranger can check."""

import json
from typing import Any

from app.reading.program_faults import is_program
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest, graph_json
from app.services.graphs import lightened
from solver.costs import network_of
from solver.evidence.bound import Bound
from solver.graph import with_barrier
from solver.planning.certificate import certificate_of, without

Json = dict[str, Any]


def certificate(problem: CheckedRequest[PlanRequest], answer: Json) -> Json:
    """Write down what proves the bound of an answer: lines that follow from the request.

    ``answer`` is what planning gave, as JSON. What has no such lines says why.
    """
    told = answer["bound"]
    figures = told["release_us"], told["tail_us"]
    bound = Bound(told["kind"], answer["lower_bound_us"], tuple(told["tensors"]), *figures)
    if is_program(problem.graph, problem.request):
        return without(bound, "a program has none")
    graph = lightened(problem.graph)
    barred = with_barrier(graph) if problem.request.has_barrier and graph.collectives else graph
    found = certificate_of(barred, network_of(problem.request.cluster.to_cluster()), bound)
    if graph is not problem.graph and any("side" in line for line in found.get("lines", ())):
        return without(bound, "compute ops of so large a graph were merged")
    return found


def certificate_text(found: Json) -> str:
    """Return a certificate as JSON text, a row for each line of it."""
    rows = ",\n".join(f"  {json.dumps(line)}" for line in found.get("lines", ()))
    head = {name: value for name, value in found.items() if name != "lines"}
    text = json.dumps(head)
    return f'{text[:-1]}, "lines": [\n{rows}\n]}}\n' if rows else f"{text}\n"


def request_text(problem: CheckedRequest[PlanRequest]) -> str:
    """Return what was planned as JSON text: the whole graph, the cluster and the options."""
    body = problem.request.model_dump(mode="json", exclude={"graph", "graph_id"})
    return json.dumps({"graph": graph_json(problem.graph), **body}) + "\n"
