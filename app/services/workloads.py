"""What a job does, from what a request tells of it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from app.reading.graph_faults import checked_graph
from app.schemas.allocations import AllocatedJobBody
from app.services import examples
from app.services.shape_spaces import gpu_of, model_of
from solver.clusters.topology import Topology
from solver.clusters.workloads import DataParallelJob, ShapedJob, Workload
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build
from solver.shapes.job_shape import faults_of_shape

if TYPE_CHECKING:
    from app.schemas.graphs import GraphBody

#: Pieces of the gradients of a job that is told by two figures.
_PIECES = 8


def workload_of(
    body: AllocatedJobBody,
    topology: Topology,
    slots: int | None,
    place: str,
    faults: list[Fault],
) -> Workload | None:
    """Return what a job does, or None with what is wrong; ``slots`` of one that runs."""
    before = len(faults)
    gpus = body.gpus_per_node or min(node.gpus for node in topology.nodes)
    forms = [
        form
        for form, is_given in (
            ("graph", body.graph is not None),
            ("compute_us", body.compute_us is not None or body.gradient_bytes is not None),
            ("shape", body.shape is not None),
        )
        if is_given
    ]
    if len(forms) != 1:
        detail = "A job is told by one of graph, compute_us with gradient_bytes, or shape with "
        detail += f"model and gpu; got {' and '.join(forms) or 'none'}."
        faults.append(Fault(place, FaultCode.MISSING_FIELD, detail))
        return None
    if forms[0] == "shape":
        return _shaped(body, gpus, place, faults)
    nodes = slots or body.nodes
    if nodes is None:
        detail = "A job without a shape needs nodes: how many."
        faults.append(Fault(f"{place}/nodes", FaultCode.MISSING_FIELD, detail))
    graph = _graph(body, place, faults)
    if len(faults) > before or graph is None or nodes is None:
        return None
    return DataParallelJob(graph, nodes, gpus, body.policy)


def _shaped(body: AllocatedJobBody, gpus: int, place: str, faults: list[Fault]) -> ShapedJob | None:
    before = len(faults)
    for field in ("model", "gpu"):
        if getattr(body, field) is None:
            detail = f"A job with a shape needs {field}."
            faults.append(Fault(f"{place}/{field}", FaultCode.MISSING_FIELD, detail))
    if len(faults) > before or body.model is None or body.gpu is None or body.shape is None:
        return None
    model = model_of(body.model, f"{place}/model", faults)
    gpu_faults: list[Fault] = []
    gpu = gpu_of(body.gpu, gpu_faults)
    faults += [replace(fault, pointer=place + fault.pointer) for fault in gpu_faults]
    if model is None or gpu is None:
        return None
    shape = body.shape.to_shape()
    wrong = [
        replace(fault, pointer=f"{place}/shape{fault.pointer}")
        for fault in faults_of_shape(shape, model)
    ]
    faults += wrong
    return None if wrong else ShapedJob(model, gpu, shape, gpus)


def _graph(body: AllocatedJobBody, place: str, faults: list[Fault]) -> Graph | None:
    body_of_graph: GraphBody | None
    if isinstance(body.graph, str):
        if not examples.is_example(body.graph):
            detail = examples.unknown_example(body.graph)
            faults.append(Fault(f"{place}/graph", FaultCode.OUT_OF_RANGE, detail))
            return None
        body_of_graph = examples.example(body.graph).graph
    else:
        body_of_graph = body.graph
    if body_of_graph is not None:
        parts = body_of_graph.buffers_of(), body_of_graph.free(), body_of_graph.recorded_of()
        graph, graph_faults = checked_graph(body_of_graph.name, body_of_graph.ops_of(), *parts)
        faults += [replace(fault, pointer=place + fault.pointer) for fault in graph_faults]
        return graph
    if body.compute_us is None or body.gradient_bytes is None:
        lacking = "compute_us" if body.compute_us is None else "gradient_bytes"
        detail = f"`compute_us` and `gradient_bytes` go together; `{lacking}` is missing."
        faults.append(Fault(f"{place}/{lacking}", FaultCode.MISSING_FIELD, detail))
        return None
    return _of_two_figures(body.compute_us, body.gradient_bytes)


def _of_two_figures(compute_us: float, gradient_bytes: int) -> Graph:
    ops = [Op("forward", COMPUTE, compute_us / 3)]
    before = "forward"
    for k in range(_PIECES):
        backward = f"backward{k}"
        ops.append(Op(backward, COMPUTE, compute_us * 2 / 3 / _PIECES, after=(before,)))
        size = gradient_bytes // _PIECES
        ops.append(Op(f"gradient{k}", ALL_REDUCE, bytes=size, after=(backward,)))
        before = backward
    return build("two figures", ops)
