"""What does not go with a program: buffers, streams of free order, and whatever is not cut."""

from collections.abc import Collection, Iterator, Sequence

from app.schemas.base import RequestModel
from app.schemas.graphs import ClusterRequest, GraphBody
from app.schemas.plan_options import OptionsBody
from app.schemas.plans import PlanRequest
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import Graph, Op
from solver.policies import POLICIES as CHAIN_POLICIES
from solver.programs.policies import POLICIES

#: Options that a program knows nothing of.
_OF_CHAINS = ("fusion", "schedule", "slot_us", "barrier")

#: Why a graph is refused by whatever is no plan.
NOT_PLANNED = (
    "Graph: streams of free order, buffers and collectives with cut false are planned (POST "
    "/v1/plans, interlace plan) and nothing else; leave them out to take the order as it is given."
)

_WHY = "a program is planned: its order of compute, launches and memory together"


def is_program(graph: Graph, options: OptionsBody) -> bool:
    """Tell whether a graph is planned as a program, for what it has or for what is asked."""
    return has_order(graph.ops, graph.free, graph.buffers) or bool(options.of_programs())


def has_order(ops: Sequence[Op], free: Sequence[str], buffers: Sequence[object]) -> bool:
    """Tell whether a graph has what only programs know of."""
    return bool(free or buffers) or any(not op.cut for op in ops)


def not_of_programs(what: str) -> Fault:
    """Say that there is none of a program."""
    detail = f"{what} is not written of a program; its answer has program, buckets and memory."
    return Fault("/program", FaultCode.NOT_SUPPORTED, detail)


def order_faults(body: GraphBody, ops: Sequence[Op], request: RequestModel) -> list[Fault]:
    """List what does not go together: a graph that is a program, and what is asked of it."""
    faults = list(_stream_faults(body))
    is_ordered = has_order(ops, body.free(), body.buffers)
    if not isinstance(request, PlanRequest):
        if is_ordered:
            faults.append(Fault("/graph", FaultCode.NOT_SUPPORTED, NOT_PLANNED))
        return faults
    asked = request.options.of_programs()
    if is_ordered or asked:
        faults += _option_faults(body, request)
        faults += _cluster_faults(ops, request)
    else:
        faults += _policy_faults(request.options, CHAIN_POLICIES, "no program is planned")
    return faults


def _stream_faults(body: GraphBody) -> Iterator[Fault]:
    taken: dict[str, int] = {}
    for i, stream in enumerate(body.streams):
        if stream.name in taken:
            detail = f"Stream {stream.name!r} is described by /streams/{taken[stream.name]} too."
            yield Fault(f"/graph/streams/{i}/name", FaultCode.DUPLICATE_ID, detail)
        taken.setdefault(stream.name, i)


def _option_faults(body: GraphBody, request: PlanRequest) -> Iterator[Fault]:
    """List options that mean nothing for a program, and limits of memory without buffers."""
    options = request.options
    for name in _OF_CHAINS:
        if getattr(options, name) != OptionsBody.model_fields[name].default:
            detail = f"Options: {name} does not count where {_WHY}; leave it out."
            yield Fault(f"/options/{name}", FaultCode.EXTRA_FIELD, detail)
    if options.more_memory_bytes is not None and options.memory_limit_bytes is None:
        detail = "Options: more_memory_bytes needs memory_limit_bytes."
        yield Fault("/options/more_memory_bytes", FaultCode.EXTRA_FIELD, detail)
    limits = ("memory_limit_bytes", "memory_limits_bytes")
    given = [name for name in limits if getattr(options, name) is not None]
    if len(given) > 1:
        detail = "Options: give one limit or several, not both."
        yield Fault("/options/memory_limits_bytes", FaultCode.EXTRA_FIELD, detail)
    if not body.buffers:
        for name in given:
            detail = f"Options: {name} needs a graph with buffers."
            yield Fault(f"/options/{name}", FaultCode.EXTRA_FIELD, detail)
    if "baselines" in options.model_fields_set:
        yield from _policy_faults(options, POLICIES, "a program is planned")


def _policy_faults(options: OptionsBody, known: Collection[str], why: str) -> Iterator[Fault]:
    """List policies of the other sort, and barriers that no program has."""
    for i, baseline in enumerate(options.baselines):
        place = f"/options/baselines/{i}"
        if baseline.policy not in known:
            detail = f"{baseline.policy} is not defined where {why}; these are: {', '.join(known)}."
            yield Fault(place, FaultCode.OUT_OF_RANGE, detail)
        elif baseline.barrier and known is POLICIES:
            detail = "A program has no barrier but its end; leave it out."
            yield Fault(f"{place}/barrier", FaultCode.EXTRA_FIELD, detail)


def _cluster_faults(ops: Sequence[Op], request: ClusterRequest) -> Iterator[Fault]:
    """List slowdowns and shared cards, which programs are simulated without."""
    if request.cluster.compute_slowdown != 1:
        detail = f"Cluster: compute_slowdown does not count where {_WHY}; leave it out."
        yield Fault("/cluster/compute_slowdown", FaultCode.EXTRA_FIELD, detail)
    for name, (place, channel) in request.cluster.networks().items():
        if channel.shares is not None:
            under = "".join(f"/{step}" for step in ("cluster", *place))
            detail = f"Channel {name!r}: shares does not count where {_WHY}; leave it out."
            yield Fault(f"{under}/shares", FaultCode.EXTRA_FIELD, detail)
    stating = [i for i, op in enumerate(ops) if op.slowdown]
    for i in stating[:100]:
        detail = f"Op {ops[i].id!r}: slowdown does not count where {_WHY}; leave it out."
        yield Fault(f"/graph/ops/{i}/slowdown", FaultCode.EXTRA_FIELD, detail)
