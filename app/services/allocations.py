"""Where to put a job: topology and jobs read, node sets ranked."""

from dataclasses import replace
from itertools import count
from math import inf
from typing import Any

from app import VERSION
from app.errors import InvalidRequest
from app.reading.graph_faults import checked_graph
from app.schemas.allocations import (
    AllocatedJobBody,
    AllocationAnswer,
    AllocationRequest,
    AllocationRow,
    RuleRow,
    RunningJobBody,
    SharedLink,
    SlowedJob,
    TopologyBody,
)
from app.services import examples
from app.services.shapes import gpu_of, model_of
from solver.clusters.allocation import (
    AllocationOptions,
    Allocations,
    RankedAllocation,
    allocate,
)
from solver.clusters.beside import PlacedJob
from solver.clusters.figures import faults_of_missing, with_figures
from solver.clusters.mapping import MappingJudge
from solver.clusters.readers import topology_of_document, topology_of_text
from solver.clusters.reasons import reason_of
from solver.clusters.regular import fat_tree, rails
from solver.clusters.topology import ClusterNode, Topology, unknown_node, wired, with_capacities
from solver.clusters.wiring import Wiring, wiring_of
from solver.clusters.workloads import DataParallelJob, ShapedJob, Workload
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build
from solver.shapes.job_shape import faults_of_shape
from solver.units import IntArray

#: Pieces of the gradients of a job that is told by two figures.
_PIECES = 8

_FORMS = ("slurm", "document", "fat_tree", "rails", "nodes")


def answer_of(request: AllocationRequest) -> AllocationAnswer:
    """Rank node sets for a job.

    Raises
    ------
    InvalidRequest
        With all that is wrong with topology, jobs and node sets.
    """
    faults: list[Fault] = []
    topology = _topology(request.topology, faults)
    if topology is None:
        raise InvalidRequest(faults)
    wiring = wiring_of(topology)
    job = _workload(request.job, topology, None, "/job", faults)
    running = [
        placed
        for i, body in enumerate(request.running)
        if (placed := _placed(body, wiring, f"/running/{i}", faults)) is not None
    ]
    _refuse_twice(request, faults)
    free = _free(request, wiring, faults)
    sets = [
        _positions(names, wiring, f"/candidates/{i}", faults)
        for i, names in enumerate(request.candidates)
    ]
    if job is not None:
        _refuse_small(request, job, wiring, free, sets, faults)
    if faults or job is None:
        raise InvalidRequest(faults)
    options = AllocationOptions(
        request.objective,
        request.moves,
        request.simulated,
        request.job.weight,
        request.job.price_per_gpu_hour,
    )
    if sets:
        free = _array(sorted({at for nodes in sets for at in nodes.tolist()}))
    found = allocate(wiring, job, free, sets, running, options)
    if not found.ranked:
        detail = "No switch joins as many free nodes as the job needs."
        raise InvalidRequest([Fault("/topology", FaultCode.OUT_OF_RANGE, detail)])
    return _answer(request, wiring, job, found)


def _answer(
    request: AllocationRequest, wiring: Wiring, job: Workload, found: Allocations
) -> AllocationAnswer:
    names = [node.name for node in wiring.topology.nodes]
    kept = {each.candidate for each in found.ranked}
    unranked = [i for i in range(len(request.candidates)) if i not in kept]
    sets = {frozenset(nodes) for nodes in request.candidates}
    return AllocationAnswer(
        best=[_row(wiring, job, found, each, names) for each in found.ranked[: request.count]],
        sets=len(found.ranked),
        left_out=unranked if len(sets) == len(request.candidates) else [],
        lower_bound_us=found.lower_bound_us,
        rules=[
            RuleRow(
                name=name,
                nodes=[names[i] for i in mapping.nodes],
                alone_us=None if mapping.time_us == inf else mapping.time_us,
            )
            for name, mapping in found.rivals
        ],
        moves=found.moves,
        notes=_notes(request),
        version=VERSION,
    )


def _row(
    wiring: Wiring, job: Workload, found: Allocations, ranked: RankedAllocation, names: list[str]
) -> AllocationRow:
    new = ranked.jobs[0]
    beside = "simulated" if ranked.is_simulated else "estimated"
    return AllocationRow(
        candidate=ranked.candidate,
        rules=list(ranked.rules),
        nodes=[names[i] for i in ranked.mapping.nodes],
        objective=ranked.objective,
        time_us=new.time_us,
        alone_us=new.alone_us,
        jobs=[SlowedJob.model_validate(each) for each in ranked.jobs],
        shared=[SharedLink(link=link, jobs=list(jobs)) for link, jobs in ranked.shared],
        evidence=beside if ranked.shared else "alone",
        why=reason_of(wiring, job, found, ranked),
    )


def _notes(request: AllocationRequest) -> list[str]:
    said = [
        "Groups of one sort send at the same time and share links evenly; groups of several sorts "
        "are timed as if by themselves."
    ]
    if request.running:
        said.append(
            "Estimated slow-downs take jobs to be at any time of their iterations, independent of "
            "one another; simulated ones let them all begin at once, and links be shared max-min "
            "fairly."
        )
    if request.topology.rails is not None:
        said.append("The rails of a pod are one switch: a rail that is busier is not seen.")
    if request.job.shape is not None:
        said.append("The machine's efficiencies are assumed: times of shapes may be far off.")
    return said


def _topology(body: TopologyBody, faults: list[Fault]) -> Topology | None:
    """Return the topology that is meant, or None with all that is wrong or missing."""
    told = [form for form in _FORMS if getattr(body, form) is not None]
    if len(told) != 1:
        detail = f"Topology: give one of {', '.join(_FORMS)}; got {', '.join(told) or 'none'}."
        faults.append(Fault("/topology", FaultCode.MISSING_FIELD, detail))
        return None
    try:
        topology = _of_form(body, told[0])
    except InterlaceError as error:
        place = f"/topology/{told[0]}"
        faults += [replace(fault, pointer=place + fault.pointer) for fault in error.faults]
        return None
    known = topology.link_by_name
    unknown = [name for name in body.links if name not in known]
    faults += [
        Fault(f"/topology/links/{name}", FaultCode.UNKNOWN_LINK, f"There is no link {name!r}.")
        for name in unknown
    ]
    try:
        topology = with_figures(
            with_capacities(topology, dict(body.links)),
            body.level_gbps,
            body.oversubscription,
            node_gbps=body.node_gbps,
            startup_us=body.startup_us,
            hop_us=body.hop_us,
            node_startup_us=body.node_startup_us,
            node_hop_us=body.node_hop_us,
        )
    except InterlaceError as error:
        faults += [replace(fault, pointer=f"/topology{fault.pointer}") for fault in error.faults]
        return None
    faults += faults_of_missing(topology, "/topology")
    return None if faults else topology


def _of_form(body: TopologyBody, form: str) -> Topology:
    if form == "slurm":
        return topology_of_text(body.slurm or "", body.gpus)
    if form == "document":
        return topology_of_document(body.document, body.gpus)
    if body.fat_tree is not None:
        return fat_tree(**body.fat_tree.model_dump(), gpus=body.gpus or 8)
    if body.rails is not None:
        return rails(**body.rails.model_dump())
    nodes = [
        ClusterNode(node.name, node.gpus or body.gpus or 8, tuple(node.above), node.domain)
        for node in body.nodes or ()
    ]
    return wired(nodes, body.levels)


def _workload(
    body: AllocatedJobBody,
    topology: Topology,
    slots: int | None,
    place: str,
    faults: list[Fault],
) -> Workload | None:
    """Return what a job does, or None with what is wrong; ``slots`` of one that runs."""
    before = len(faults)
    gpus = body.gpus_per_node or min(node.gpus for node in topology.nodes)
    told = [
        form
        for form, given in (
            ("graph", body.graph is not None),
            ("compute_us", body.compute_us is not None or body.gradient_bytes is not None),
            ("shape", body.shape is not None),
        )
        if given
    ]
    if len(told) != 1:
        detail = "A job is told by one of graph, compute_us with gradient_bytes, or shape with "
        detail += f"model and gpu; got {' and '.join(told) or 'none'}."
        faults.append(Fault(place, FaultCode.MISSING_FIELD, detail))
        return None
    if told[0] == "shape":
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
    found: list[Fault] = []
    gpu = gpu_of(body.gpu, found)
    faults += [replace(fault, pointer=place + fault.pointer) for fault in found]
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
    if isinstance(body.graph, str):
        if not examples.is_example(body.graph):
            detail = examples.unknown_example(body.graph)
            faults.append(Fault(f"{place}/graph", FaultCode.OUT_OF_RANGE, detail))
            return None
        given = examples.example(body.graph).graph
    else:
        given = body.graph
    if given is not None:
        parts = given.buffers_of(), given.free(), given.recorded_of()
        graph, found = checked_graph(given.name, given.ops_of(), *parts)
        faults += [replace(fault, pointer=place + fault.pointer) for fault in found]
        return graph
    if body.compute_us is None or body.gradient_bytes is None:
        lacking = "compute_us" if body.compute_us is None else "gradient_bytes"
        detail = f"compute_us and gradient_bytes go together; {lacking} is missing."
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


def _placed(
    body: RunningJobBody, wiring: Wiring, place: str, faults: list[Fault]
) -> PlacedJob | None:
    before = len(faults)
    nodes = _positions(body.on, wiring, f"{place}/on", faults)
    job = _workload(body, wiring.topology, len(body.on), place, faults)
    if job is not None and job.slots != len(body.on):
        detail = f"Job {body.name!r} needs {job.slots} nodes and runs on {len(body.on)}."
        faults.append(Fault(f"{place}/on", FaultCode.OUT_OF_RANGE, detail))
    if job is None or len(faults) > before:
        return None
    mapping = MappingJudge(wiring, job)(nodes)
    if mapping.time_us == inf:
        detail = f"Job {body.name!r} runs on nodes that no switch joins."
        faults.append(Fault(f"{place}/on", FaultCode.OUT_OF_RANGE, detail))
        return None
    return PlacedJob(body.name, job, mapping, body.weight, body.price_per_gpu_hour)


def _refuse_twice(request: AllocationRequest, faults: list[Fault]) -> None:
    seen: set[str] = set()
    for i, body in enumerate(request.running):
        if body.name in seen:
            detail = f"Job {body.name!r} is there twice; names must differ."
            faults.append(Fault(f"/running/{i}/name", FaultCode.DUPLICATE_ID, detail))
        seen.add(body.name)


def _free(request: AllocationRequest, wiring: Wiring, faults: list[Fault]) -> IntArray:
    if request.free is not None:
        return _positions(request.free, wiring, "/free", faults)
    taken = {name for body in request.running for name in body.on}
    own = enumerate(wiring.topology.nodes)
    return _array([i for i, node in own if node.name not in taken])


def _positions(names: list[str], wiring: Wiring, place: str, faults: list[Fault]) -> IntArray:
    found: list[int] = []
    for i, name in zip(count(), names, strict=False):
        at = wiring.positions.get(name)
        if at is None:
            faults.append(unknown_node(name, f"{place}/{i}", wiring.positions))
        elif at in found:
            detail = f"Node {name!r} is there twice."
            faults.append(Fault(f"{place}/{i}", FaultCode.DUPLICATE_ID, detail))
        else:
            found.append(at)
    return _array(found)


def _array(positions: list[int]) -> Any:
    import numpy as np  # noqa: PLC0415 - takes time

    return np.array(positions, dtype=np.int64)


def _refuse_small(
    request: AllocationRequest,
    job: Workload,
    wiring: Wiring,
    free: IntArray,
    sets: list[IntArray],
    faults: list[Fault],
) -> None:
    """Refuse node sets with fewer nodes than the job needs, or fewer GPUs a node."""
    given = [(f"/candidates/{i}", f"candidate {i}", nodes) for i, nodes in enumerate(sets)]
    for place, what, nodes in given or [("/free", "the cluster", free)]:
        if len(nodes) < job.slots and not faults:
            detail = f"The job needs {job.slots} nodes; {what} has {len(nodes)} free."
            faults.append(Fault(place, FaultCode.OUT_OF_RANGE, detail))
        for at in nodes.tolist():
            node = wiring.topology.nodes[at]
            if node.gpus < job.slot_gpus:
                detail = (
                    f"The job needs {job.slot_gpus} GPUs a node; {node.name!r} has {node.gpus}."
                )
                faults.append(Fault(place, FaultCode.OUT_OF_RANGE, detail))
                break
