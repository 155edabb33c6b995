"""What does not go with a program: buffers, streams of free order, and whatever is not cut."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard

from app.schemas.base import RequestModel
from app.schemas.graphs import ClusterRequest, GraphBody
from app.schemas.plan_options import OptionsBody
from app.schemas.plans import PlanRequest
from app.schemas.policies import BaselineBody
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import Graph, Op
from solver.graph.names import OF_XLA
from solver.policies import POLICIES as CHAIN_POLICIES
from solver.prediction.sweep import PLAN
from solver.programs.policies import POLICIES

if TYPE_CHECKING:
    from app.schemas.simulations import SimulationRequest
    from app.schemas.sweeps import SweepRequest

    #: What takes a program: of its graph and of what is asked of it.
    Taking = PlanRequest | SimulationRequest | SweepRequest

#: Options that a program knows nothing of.
_OF_CHAINS = ("fusion", "schedule", "slot_us", "barrier", "prove_s")

#: Why a graph is refused by whatever takes no program.
NOT_PLANNED = (
    "Graph: streams of free order, buffers and collectives with cut false are planned, simulated "
    "and swept (POST /v1/plans, /v1/simulations, /v1/sweeps; interlace plan, simulate, sweep) and "
    "nothing else; leave them out to take the order as it is given."
)

#: Fields that say how much memory there is; they mean nothing without buffers.
_LIMITS = ("memory_limit_bytes", "memory_limits_bytes", "more_memory_bytes")

_NO_BARRIER = "A program has no barrier but its end; leave it out."

_WHY = "a program is planned: its order of compute, launches and memory together"


def is_program(graph: Graph, request: "Taking") -> bool:
    """Tell whether a graph is taken as a program, for what it has or for what is asked."""
    return has_order(graph.ops, graph.free, graph.buffers) or request.asks_for_program


def has_order(ops: Sequence[Op], free: Sequence[str], buffers: Sequence[object]) -> bool:
    """Tell whether a graph has what only programs know of."""
    return bool(free or buffers) or any(not op.cut for op in ops)


def order_faults(body: GraphBody, ops: Sequence[Op], request: RequestModel) -> list[Fault]:
    """List what does not go together: a graph that is a program, and what is asked of it."""
    faults = list(_stream_faults(body))
    is_ordered = has_order(ops, body.free(), body.buffers)
    if not _is_taking(request):
        if is_ordered:
            faults.append(Fault("/graph", FaultCode.NOT_SUPPORTED, NOT_PLANNED))
    elif is_ordered or request.asks_for_program:
        asked = [*_asked_faults(body, request), *_cluster_faults(ops, request)]
        if is_ordered or _without_limits(request).asks_for_program:
            faults += asked
        else:  # what else a program refuses follows from the limits
            faults += [fault for fault in asked if fault.pointer.rpartition("/")[2] in _LIMITS]
    elif isinstance(request, PlanRequest):
        why = "no program is planned"
        baselines = _listed("/options/baselines", request.options.baselines)
        faults += _policy_faults(baselines, CHAIN_POLICIES, why)
    return faults


def _without_limits(request: "Taking") -> "Taking":
    """Return a request without limits of memory, which ask for a program by themselves."""
    options, fields = request.options, type(request.options).model_fields
    own = {name: None for name in _LIMITS if name in fields}
    less: dict[str, object] = {"options": options.model_copy(update=own)}
    if "memory_limits_bytes" in type(request).model_fields:
        less["memory_limits_bytes"] = []
    return request.model_copy(update=less)


def _is_taking(request: RequestModel) -> "TypeGuard[Taking]":
    """Tell whether it is a request of those that may ask for a program."""
    return hasattr(type(request), "asks_for_program")


def _asked_faults(body: GraphBody, request: "Taking") -> Iterator[Fault]:
    """List what is asked and means nothing for a program."""
    from app.schemas.simulations import SimulationRequest  # noqa: PLC0415 - takes time, as the next
    from app.schemas.sweeps import SweepRequest  # noqa: PLC0415

    match request:
        case PlanRequest():
            yield from _belief_faults(request)
            yield from _option_faults(body, request)
            if request.options.recompute is not None:
                yield from _recompute_faults(body, request)
        case SimulationRequest():
            yield from _belief_faults(request)
            yield from _simulation_faults(body, request)
        case SweepRequest():
            yield from _belief_faults(request)
            yield from _sweep_faults(body, request)


def _belief_faults(request: "Taking") -> Iterator[Fault]:
    """Say that programs are decided with the costs that they are executed with."""
    if request.believed is not None:
        detail = "Believed: a program is decided with the costs of its cluster; leave it out."
        yield Fault("/believed", FaultCode.NOT_SUPPORTED, detail)


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
    if options.robust is not None:
        for name in ("memory_limits_bytes", "more_memory_bytes"):
            if getattr(options, name) is not None:
                detail = f"Options: {name} compares times at the stated costs, robust does not."
                yield Fault(f"/options/{name}", FaultCode.NOT_SUPPORTED, detail)
    limits = ("memory_limit_bytes", "memory_limits_bytes")
    given = [name for name in limits if getattr(options, name) is not None]
    if len(given) > 1:
        detail = "Options: give one limit or several, not both."
        yield Fault("/options/memory_limits_bytes", FaultCode.EXTRA_FIELD, detail)
    if not body.buffers:
        yield from (_without_buffers("Options", f"/options/{name}") for name in given)
    if "baselines" in options.model_fields_set:
        baselines = _listed("/options/baselines", options.baselines)
        yield from _policy_faults(baselines, POLICIES, "a program is planned")


def _recompute_faults(body: GraphBody, request: PlanRequest) -> Iterator[Fault]:
    """List what ops that run twice do not go with."""
    options, place = request.options, "/options/recompute"
    if options.memory_limit_bytes is None:
        detail = "Options: recompute needs memory_limit_bytes."
        yield Fault(place, FaultCode.EXTRA_FIELD, detail)
    others = {
        "/options/memory_limits_bytes": options.memory_limits_bytes,
        "/options/more_memory_bytes": options.more_memory_bytes,
        "/options/robust": options.robust,
        "/what_if": request.what_if or None,
    }
    for other, given in others.items():
        if given is not None:
            detail = f"{other.rpartition('/')[2]} is not planned together with recompute."
            yield Fault(other, FaultCode.NOT_SUPPORTED, detail)
    if OF_XLA in body.free():
        detail = "Options: XLA recomputes by rules of its own; leave recompute out."
        yield Fault(place, FaultCode.NOT_SUPPORTED, detail)


def _simulation_faults(body: GraphBody, request: "SimulationRequest") -> Iterator[Fault]:
    """List what a program is not simulated with."""
    if request.barrier:
        yield Fault("/barrier", FaultCode.EXTRA_FIELD, _NO_BARRIER)
    if request.jitter is not None:
        detail = (
            "Jitter: op times are varied under launches in a given order, not under a program; "
            "leave it out."
        )
        yield Fault("/jitter", FaultCode.NOT_SUPPORTED, detail)
    if request.options.memory_limit_bytes is not None and not body.buffers:
        yield _without_buffers("Options", "/options/memory_limit_bytes")
    if request.plan is not None and request.plan.program is None:
        detail = "Plan: a program is simulated, and this plan has none; give its program."
        yield Fault("/plan/program", FaultCode.MISSING_FIELD, detail)
    if request.policy is not None:
        policy = [("/policy", request.policy)]
        yield from _policy_faults(policy, POLICIES, "a program is simulated")


def _sweep_faults(body: GraphBody, request: "SweepRequest") -> Iterator[Fault]:
    """List what programs are not swept with."""
    if request.barrier:
        yield Fault("/barrier", FaultCode.EXTRA_FIELD, _NO_BARRIER)
    if request.memory_limits_bytes and not body.buffers:
        yield _without_buffers("Sweep", "/memory_limits_bytes")
    if "policies" in request.model_fields_set:
        policies = _listed("/policies", request.policies)
        yield from _policy_faults(policies, (*POLICIES, PLAN), "programs are swept")


def _without_buffers(what: str, place: str) -> Fault:
    name = place.rpartition("/")[2]
    return Fault(place, FaultCode.EXTRA_FIELD, f"{what}: {name} needs a graph with buffers.")


def _listed(place: str, policies: Sequence[BaselineBody]) -> list[tuple[str, BaselineBody]]:
    """Return policies of a list with their places."""
    return [(f"{place}/{i}", policy) for i, policy in enumerate(policies)]


def _policy_faults(
    policies: Iterable[tuple[str, BaselineBody]], known: Collection[str], why: str
) -> Iterator[Fault]:
    """List policies of the other sort, and barriers that no program has; each with its place."""
    for place, policy in policies:
        if policy.policy not in known:
            detail = f"{policy.policy} is not defined where {why}; these are: {', '.join(known)}."
            yield Fault(place, FaultCode.OUT_OF_RANGE, detail)
        elif policy.barrier and known is not CHAIN_POLICIES:
            yield Fault(f"{place}/barrier", FaultCode.EXTRA_FIELD, _NO_BARRIER)


def _cluster_faults(ops: Sequence[Op], request: ClusterRequest) -> Iterator[Fault]:
    """List slowdowns, shared cards and links, which programs are simulated without."""
    if request.cluster.compute_slowdown != 1:
        detail = f"Cluster: compute_slowdown does not count where {_WHY}; leave it out."
        yield Fault("/cluster/compute_slowdown", FaultCode.EXTRA_FIELD, detail)
    for name, (place, channel) in request.cluster.networks().items():
        under = "".join(f"/{step}" for step in ("cluster", *place))
        given = {
            "shares": channel.shares is not None,
            "path": channel.path,
            "launch_slowdown": channel.launch_slowdown > 1,
        }
        for field, is_given in given.items():
            if is_given:
                detail = f"Channel {name!r}: {field} does not count where {_WHY}; leave it out."
                yield Fault(f"{under}/{field}", FaultCode.EXTRA_FIELD, detail)
    stating = [i for i, op in enumerate(ops) if op.slowdown]
    for i in stating[:100]:
        detail = f"Op {ops[i].id!r}: slowdown does not count where {_WHY}; leave it out."
        yield Fault(f"/graph/ops/{i}/slowdown", FaultCode.EXTRA_FIELD, detail)
