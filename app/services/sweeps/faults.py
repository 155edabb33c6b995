"""What is wrong with a sweep that fits the schema."""

from collections.abc import Iterator
from math import prod

from app.limits import MAX_CELLS, MAX_SWEEP_PLANNING_S, MAX_SWEEP_STEPS
from app.reading.cluster_faults import cluster_faults, lane_faults
from app.schemas.sweeps import AXES, SweepRequest
from app.services.launch_counts import launches_of
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Cost, network_of
from solver.errors import Fault, InvalidCluster
from solver.graph import NETWORK, Graph, Op
from solver.policies.choice import Choice, choice_faults
from solver.prediction.sweep import PLAN
from solver.simulation.engine import costs_of


def sweep_faults(graph: Graph, request: SweepRequest) -> list[Fault]:
    """List all faults; those of cost, and of bounds on the work, when there are no others."""
    return (
        [*axis_faults(request), *_policy_faults(graph, request)]
        or [*swept_faults(graph, request), *_work_faults(graph, request)]
        or list(_idle_faults(graph, request))
    )


def label_of(choice: Choice) -> str:
    """Name a policy by what was given of it, such as ``horovod:cycle_time_us=5000``."""
    given = [f"{name}={_shown(value)}" for name, value in choice.parameters]
    given += ["barrier"] if choice.barrier else []
    return f"{choice.policy}:{','.join(given)}" if given else choice.policy


def _shown(value: float | str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def axis_faults(request: SweepRequest) -> Iterator[Fault]:
    """List values that are given twice, and too many cells."""
    axes = (*AXES, "memory_limits_bytes")
    for axis in axes:
        values = getattr(request, axis)
        for i, value in enumerate(values):
            if (first := values.index(value)) < i:
                detail = f"Sweep: {axis} must be distinct; {value:g} is at {first} already."
                yield Fault(f"/{axis}/{i}", FaultCode.OUT_OF_RANGE, detail)
                break
    cells = prod(max(1, len(getattr(request, axis))) for axis in axes)
    if cells > MAX_CELLS:
        detail = f"Sweep: at most {MAX_CELLS:,} cells are computed, got {cells:,}."
        yield Fault("", FaultCode.OUT_OF_RANGE, detail)


def _policy_faults(graph: Graph, request: SweepRequest) -> Iterator[Fault]:
    first: dict[str, int] = {}
    for i, choice in enumerate(request.choices()):
        label = label_of(choice)
        if label in first:
            detail = f"Policy {label} is at {first[label]} already; each is swept once."
            yield Fault(f"/policies/{i}", FaultCode.DUPLICATE_ID, detail)
        first.setdefault(label, i)
        if choice.policy != PLAN:
            for fault in choice_faults(choice, chain_of(graph)):
                yield Fault(f"/policies/{i}{fault.pointer}", fault.code, fault.detail)
        elif choice.barrier:
            detail = "The plan has the barrier of the sweep; give the sweep one."
            yield Fault(f"/policies/{i}/barrier", FaultCode.EXTRA_FIELD, detail)


def swept_faults(graph: Graph, request: SweepRequest) -> list[Fault]:
    """List the values with which the cluster has no cost; each is tried alone.

    What is wrong with a field that is swept is wrong with its value; else with the value tried, and
    not again with those of the next axis.
    """
    lanes = _one_of_each_lane(graph)
    swept = {f"/cluster/{field}": axis for axis, field in AXES.items() if getattr(request, axis)}
    found: dict[Fault, None] = {}
    told: dict[tuple[str, str], str] = {}
    for axis, i, cluster in request.alone():
        for fault in [*cluster_faults(cluster), *lane_faults(lanes, cluster)]:
            if told.setdefault((fault.code, fault.detail), axis) != axis:
                continue
            at, place = swept.get(fault.pointer, axis), i
            if at != axis:
                place = getattr(request, at).index(getattr(cluster, AXES[at]))
            found[Fault(f"/{at}/{place}", fault.code, fault.detail)] = None
    return list(found)


def _one_of_each_lane(graph: Graph) -> list[Op]:
    ops = (graph.ops[i] for i in graph.collectives)
    return list({(op.channel, op.kind): op for op in ops}.values())


def _work_faults(graph: Graph, request: SweepRequest) -> Iterator[Fault]:
    """Bound the work of all cells."""
    cells, choices = len(request.points()), request.choices()
    sizes = chain_of(graph).bytes.tolist()
    rivals = [choice for choice in choices if choice.policy != PLAN]
    each = sum(len(graph.ops) + launches_of(choice, sizes)[0] for choice in rivals)
    yield from work_faults(request, cells, cells * each, "ops and launches")


def work_faults(request: SweepRequest, cells: int, steps: int, what: str) -> Iterator[Fault]:
    """Bound the work of so many cells: the steps of all policies, and the time of all plans."""
    if steps > MAX_SWEEP_STEPS:
        detail = (
            f"Sweep: {cells:,} cells take {steps:,} steps ({what}, over all "
            f"policies); at most {MAX_SWEEP_STEPS:,} are simulated."
        )
        yield Fault("/policies", FaultCode.OUT_OF_RANGE, detail)
    is_planned = any(choice.policy == PLAN for choice in request.choices())
    if is_planned and cells * request.time_limit_s > MAX_SWEEP_PLANNING_S:
        detail = (
            f"Sweep: {cells:,} plans may take {cells * request.time_limit_s:,.0f} s; at most "
            f"{MAX_SWEEP_PLANNING_S:,} s are planned."
        )
        yield Fault("/time_limit_s", FaultCode.OUT_OF_RANGE, detail)


def _idle_faults(graph: Graph, request: SweepRequest) -> Iterator[Fault]:
    """Refuse a sweep of what no cost depends on, where there is anything to send."""
    used, networks = chain_of(graph).channels, request.cluster.networks()
    if request.workers and all(name != NETWORK and networks[name][1].workers for name in used):
        detail = (
            "Sweep: all collectives of this graph are on channels with workers of their own; leave "
            "workers out."
        )
        yield Fault("/workers", FaultCode.EXTRA_FIELD, detail)
    if max(request.workers, default=request.cluster.workers) == 1:
        return
    for axis in ("bandwidths_gbps", "startups_us"):
        if getattr(request, axis) and not _counts(graph, request, axis):
            detail = (
                f"Sweep: no collective of this graph costs less or more with another {AXES[axis]} "
                f"(algorithm {request.cluster.to_cluster().algorithm}); leave {axis} out."
            )
            yield Fault(f"/{axis}", FaultCode.EXTRA_FIELD, detail)


def _counts(graph: Graph, request: SweepRequest, axis: str) -> bool:
    """Tell whether a cost depends on what is swept: on the least, and on more than the most."""
    values = getattr(request, axis)
    workers = max(request.workers, default=request.cluster.workers)

    def costs(value: float) -> tuple[Cost, ...]:
        cluster = request.cluster.model_copy(update={"workers": workers, AXES[axis]: value})
        return costs_of(chain_of(graph), network_of(cluster.to_cluster()))

    try:
        return costs(min(values)) != costs(2 * max(values) + 1)
    except InvalidCluster:
        return True  # measured with the only value
