"""Where to put a job: topology and jobs read, node sets ranked."""

from itertools import count
from math import inf

import numpy as np

from app import VERSION
from app.errors import InvalidRequest
from app.schemas.allocations import (
    AllocatedJobBody,
    AllocationAnswer,
    AllocationRequest,
    AllocationRow,
    RuleRow,
    RunningJobBody,
    SharedLink,
    SlowedJob,
)
from app.services.cluster_use import ClusterUse
from app.services.topologies import topology_of
from app.services.workloads import workload_of
from solver.clusters.allocation import (
    AllocationOptions,
    Allocations,
    RankedAllocation,
    allocate,
)
from solver.clusters.beside import PlacedJob
from solver.clusters.mapping import MappingJudge
from solver.clusters.reasons import reason_of
from solver.clusters.topology import unknown_node
from solver.clusters.wiring import Wiring, wiring_of
from solver.clusters.workloads import Workload
from solver.codes import FaultCode
from solver.errors import Fault
from solver.jobs.estimate import ESTIMATE_ERROR
from solver.jobs.mix import JobTerms
from solver.units import IntArray


def answer_of(request: AllocationRequest) -> AllocationAnswer:
    """Rank node sets for a job.

    Raises
    ------
    InvalidRequest
        With all that is wrong with topology, jobs and node sets.
    """
    faults: list[Fault] = []
    topology = topology_of(request.topology, faults)
    if topology is None:
        raise InvalidRequest(faults)
    wiring = wiring_of(topology)
    job = workload_of(request.job, topology, None, "/job", faults)
    running = [
        placed
        for i, body in enumerate(request.running)
        if (placed := _placed(body, wiring, f"/running/{i}", faults)) is not None
    ]
    _refuse_twice(request, faults)
    taken = _taken(running, wiring, faults)
    free = _free(request, wiring, faults)
    sets = [
        _positions(names, wiring, f"/candidates/{i}", faults)
        for i, names in enumerate(request.candidates)
    ]
    if job is not None:
        _refuse_small(request, job, wiring, taken, free, sets, faults)
    if faults or job is None:
        raise InvalidRequest(faults)
    options = AllocationOptions(
        request.objective,
        request.moves,
        request.simulated,
        request.job.weight,
        request.job.price_per_gpu_hour,
        _terms(request.job),
    )
    if sets:
        free = _array(sorted({at for nodes in sets for at in nodes.tolist()}))
    found = allocate(wiring, job, free, sets, running, options)
    if not found.ranked:
        joined = int(np.bincount(wiring.switches[-1][free]).max())
        detail = (
            f"The job needs {job.slots} nodes; the topology joins at most {joined} that are free: "
            "name one switch above those that are linked."
        )
        raise InvalidRequest([Fault("/topology", FaultCode.OUT_OF_RANGE, detail)])
    use = ClusterUse(wiring, job, running, free) if request.has_cluster else None
    return _answer(request, wiring, job, found, use)


def _answer(
    request: AllocationRequest,
    wiring: Wiring,
    job: Workload,
    found: Allocations,
    use: ClusterUse | None,
) -> AllocationAnswer:
    names = [node.name for node in wiring.topology.nodes]
    kept = {each.candidate for each in found.ranked}
    unranked = [i for i in range(len(request.candidates)) if i not in kept]
    sets = {frozenset(nodes) for nodes in request.candidates}
    return AllocationAnswer(
        best=[_row(wiring, job, found, each, names, use) for each in found.ranked[: request.count]],
        sets=len(found.ranked),
        left_out=unranked if len(sets) == len(request.candidates) else [],
        lower_bound_us=found.lower_bound_us,
        trust_below=ESTIMATE_ERROR if any(map(_is_estimated, found.ranked)) else None,
        undecided=found.undecided,
        rules=[
            RuleRow(
                name=name,
                nodes=[names[i] for i in mapping.nodes],
                alone_us=None if mapping.time_us == inf else mapping.time_us,
            )
            for name, mapping in found.rivals
        ],
        moves=found.moves,
        cluster=None if use is None else use.cluster(found.ranked[0]),
        notes=_notes(request, found),
        version=VERSION,
    )


def _is_estimated(ranked: RankedAllocation) -> bool:
    return bool(ranked.shared) and not ranked.is_simulated


def _row(
    wiring: Wiring,
    job: Workload,
    found: Allocations,
    ranked: RankedAllocation,
    names: list[str],
    use: ClusterUse | None,
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
        links=None if use is None else use.changed(ranked),
        evidence=beside if ranked.shared else "alone",
        why=reason_of(wiring, job, found, ranked),
    )


def _notes(request: AllocationRequest, found: Allocations) -> list[str]:
    said = [
        (
            "Groups of one sort send at the same time and share links evenly; groups of several "
            "sorts are timed as if by themselves."
        )
    ]
    if request.topology.gpus is None and request.topology.rails is None:
        said.append("Nodes that do not say how many GPUs they have are taken to have 8.")
    if found.moves_cut:
        said.append(
            f"The cluster is too large for {request.moves:,} moves: {found.moves_cut:,} of them "
            "were not allowed, so that the search ends."
        )
    if found.switches_cut:
        said.append(
            f"The cluster is too large to search below each switch: {found.switches_cut:,} with "
            "room for the job were left out, those that the topology names last. Give candidates, "
            "or a smaller part of the cluster, to have them ranked."
        )
    if request.running:
        said.append(
            "Estimated slow-downs take jobs to be at any time of their iterations, independent of "
            "one another; simulated ones let them all begin at once, and links be shared max-min "
            "fairly. Only the first sets by estimate are simulated, so a later one may be better."
        )
    if len({each.priority for each in (request.job, *request.running)}) > 1:
        said.append(
            "A lower class may never be served: a job that ended no step has its time until the "
            "simulation's end, at least."
        )
    if request.topology.rails is not None:
        said.append("The rails of a pod are one switch: a rail that is busier is not seen.")
    if request.job.shape is not None:
        said.append("The machine's efficiencies are assumed: times of shapes may be far off.")
    return said


def _placed(
    body: RunningJobBody, wiring: Wiring, place: str, faults: list[Fault]
) -> PlacedJob | None:
    before = len(faults)
    nodes = _positions(body.on, wiring, f"{place}/on", faults)
    job = workload_of(body, wiring.topology, len(body.on), place, faults)
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
    price = body.price_per_gpu_hour
    return PlacedJob(body.name, job, mapping, body.weight, price, _terms(body))


def _terms(body: AllocatedJobBody) -> JobTerms:
    return JobTerms(body.offset_us, body.priority, body.period_us)


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
    found: dict[int, None] = {}
    for i, name in zip(count(), names, strict=False):
        at = wiring.positions.get(name)
        if at is None:
            faults.append(unknown_node(name, f"{place}/{i}", wiring.positions))
        elif at in found:
            detail = f"Node {name!r} is there twice."
            faults.append(Fault(f"{place}/{i}", FaultCode.DUPLICATE_ID, detail))
        else:
            found[at] = None
    return _array(list(found))


def _array(positions: list[int]) -> IntArray:
    return np.array(positions, dtype=np.int64)


def _taken(running: list[PlacedJob], wiring: Wiring, faults: list[Fault]) -> dict[int, int]:
    """Return the GPUs of each node that jobs keep, or refuse more than it has."""
    taken: dict[int, int] = {}
    for i, placed in enumerate(running):
        for at in placed.mapping.nodes:
            taken[at] = taken.get(at, 0) + placed.job.slot_gpus
            node = wiring.topology.nodes[at]
            if node.gpus < taken[at]:
                detail = (
                    f"Jobs up to {placed.name!r} take {taken[at]} GPUs of {node.name!r}, which has "
                    f"{node.gpus}: give gpus_per_node of each job, or gpus of the topology."
                )
                faults.append(Fault(f"/running/{i}/on", FaultCode.OUT_OF_RANGE, detail))
    return taken


def _refuse_small(
    request: AllocationRequest,
    job: Workload,
    wiring: Wiring,
    taken: dict[int, int],
    free: IntArray,
    sets: list[IntArray],
    faults: list[Fault],
) -> None:
    """Refuse node sets with fewer nodes than the job needs, or fewer free GPUs a node."""
    given = [(f"/candidates/{i}", f"candidate {i}", nodes) for i, nodes in enumerate(sets)]
    needs = "/job/nodes" if request.job.shape is None else "/job/shape"
    is_told = bool(given) or request.free is not None
    for place, what, nodes in given or [("/free", "the cluster", free)]:
        if len(nodes) < job.slots and not faults:
            detail = f"The job needs {job.slots} nodes; {what} has {len(nodes)} free."
            faults.append(Fault(place if is_told else needs, FaultCode.OUT_OF_RANGE, detail))
        for at in nodes.tolist():
            node = wiring.topology.nodes[at]
            busy = taken.get(at, 0)
            if node.gpus - busy < job.slot_gpus:
                kept = f", of which jobs that run keep {busy}" if busy else ""
                detail = (
                    f"The job needs {job.slot_gpus} GPUs a node; {node.name!r} has "
                    f"{node.gpus}{kept}."
                )
                at_fault = place if is_told else "/job/gpus_per_node"
                faults.append(Fault(at_fault, FaultCode.OUT_OF_RANGE, detail))
                break
