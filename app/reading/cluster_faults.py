"""What is wrong with a cluster that fits the schema, and with what its networks carry."""

from collections.abc import Callable, Iterator, Sequence

from app.codes import ServiceFaultCode
from app.reading.wording import brief, pointer
from app.schemas.clusters import ChannelBody, ClusterBody
from app.schemas.networks import CostModelBody
from solver.codes import FaultCode
from solver.costs import ChannelCost, Cluster, cost_of
from solver.costs.checks import path_faults
from solver.errors import Fault, InterlaceError
from solver.graph import ALL_REDUCE, COMPUTE, NETWORK, SEND_RECV, Op, first_of
from solver.limits import MAX_FAULTS_SOUGHT
from solver.wording import some_of

#: Finds a stored cost model by its id; None when there is none.
Models = Callable[[str], CostModelBody | None]


#: Nobody says how many workers there are.
WORKERS_MISSING = Fault("/cluster/workers", FaultCode.MISSING_FIELD, "Cluster: workers is missing.")


def with_models(body: ClusterBody, models: Models) -> tuple[ClusterBody, list[Fault]]:
    """Put stored cost models in the place of their ids; list the ids that nobody knows."""
    found: dict[str, CostModelBody] = {}
    faults = []
    for name, (place, channel) in body.networks().items():
        if channel.cost_model is None or (known := channel.cost_model.id) is None:
            continue
        if channel.cost_model.model_fields_set != {"id"}:
            continue
        if (model := models(known)) is not None:
            found[name] = model.model_copy(update={"id": known})
            continue
        under = pointer(("cluster", *place, "cost_model"))
        detail = f"Cluster: no cost model has the id {brief(known)!r}."
        faults.append(Fault(under, ServiceFaultCode.UNKNOWN_COST_MODEL, detail))
    return body.with_models(found), faults


def cluster_faults(body: ClusterBody) -> list[Fault]:
    """List the fields that do not count."""
    faults = []
    for place, channel in body.networks().values():
        under = pointer(("cluster", *place))
        faults += [_idle(under, field, _beside(channel)) for field in channel.idle()]
        model = channel.cost_model
        if model is None:
            continue
        faults += model_faults(model, f"{under}/cost_model")
        if model.is_measured and channel.bandwidth_gbps and not model.bandwidth_gbps:
            beside = (
                "where the cost model does not say at which bandwidth it was measured (its own "
                "bandwidth_gbps)"
            )
            faults.append(_idle(under, "bandwidth_gbps", beside))
    faults += first_of(_path_faults(body), "/cluster/channels")
    if NETWORK in body.channels:
        detail = f"Cluster: the channel {NETWORK} is the cluster's own fields."
        faults.append(Fault(f"/cluster/channels/{NETWORK}", FaultCode.EXTRA_FIELD, detail))
    return faults


def _path_faults(body: ClusterBody) -> Iterator[Fault]:
    for place, channel in body.networks().values():
        said = pointer(("cluster", *place))
        what = "Cluster: " + "".join(f"{each}/" for each in place)
        own = Cluster(
            1,
            shares=channel.shares,
            path=tuple(channel.path),
            priority=channel.priority,
            launch_slowdown=channel.launch_slowdown,
        )
        yield from path_faults(own, body.links, said, what)


def model_faults(model: CostModelBody, under: str) -> list[Fault]:
    """List the fields of a cost model that do not count, and sizes that do not ascend."""
    beside = f"with the algorithm {model.algorithm}"
    faults = [_idle(under, field, beside) for field in model.idle()]
    ranges = {f"measured_of_kinds/{kind}": each for kind, each in model.measured_of_kinds.items()}
    if model.measured_bytes:
        ranges["measured_bytes"] = model.measured_bytes
    for field, (least, most) in ranges.items():
        if least > most:
            detail = f"Cost model: {field} must ascend, got {least:,}, {most:,}."
            faults.append(Fault(f"{under}/{field}", FaultCode.OUT_OF_RANGE, detail))
    return faults


def lane_faults(ops: Sequence[Op], body: ClusterBody) -> list[Fault]:
    """List the channels that the cluster does not have, and what the lanes in use cost not.

    When no collective can be read, an all-reduce on the network is taken to be in use.
    """
    known = some_of([NETWORK, *body.channels])
    faults: list[Fault] = []
    lanes: dict[ChannelCost, None] = {}
    for i, op in enumerate(ops):
        if op.kind == COMPUTE:
            continue
        if op.channel == NETWORK or op.channel in body.channels:
            lanes[ChannelCost(op.channel, op.kind)] = None
            continue
        if len(faults) == MAX_FAULTS_SOUGHT:
            many = f"more than {MAX_FAULTS_SOUGHT:,} ops"
            detail = f"Graph: {many} name a channel that the cluster has not."
            faults.append(Fault("/graph/ops", FaultCode.TOO_MANY_FAULTS, detail))
            break
        detail = (
            f"Tensor {brief(op.id)!r}: the cluster has no channel {brief(op.channel)!r}; it has "
            f"{known}."
        )
        faults.append(Fault(f"/graph/ops/{i}/channel", FaultCode.UNKNOWN_CHANNEL, detail))
    used = lanes or {ChannelCost(NETWORK, ALL_REDUCE): None}
    if body.lacks_workers(lane.channel for lane in used):
        faults.append(_workers_missing(ops))
    cluster, places = body.to_cluster(), body.networks()
    costed = {**dict(cluster.channels), NETWORK: cluster}
    for lane in used:
        place, channel = places[lane.channel]
        faults += _cost_faults(lane, costed[lane.channel], place, channel)
    return faults


def _workers_missing(ops: Sequence[Op]) -> Fault:
    """Say that workers are missing; where a send_recv names no channel, what may be forgotten."""
    sent = next((op for op in ops if op.kind == SEND_RECV and op.channel == NETWORK), None)
    if sent is None:
        return WORKERS_MISSING
    detail = (
        f"Cluster: workers is missing, and tensor {brief(sent.id)!r} is a {SEND_RECV} without a "
        "channel of its own: give it one of cluster.channels, or give workers."
    )
    return Fault(WORKERS_MISSING.pointer, WORKERS_MISSING.code, detail)


def _idle(under: str, field: str, beside: str) -> Fault:
    name = f"{under}/{field}".removeprefix("/cluster/")
    detail = f"Cluster: {name} does not count {beside}; leave it out."
    return Fault(f"{under}/{field}", FaultCode.EXTRA_FIELD, detail)


def _beside(channel: ChannelBody) -> str:
    if channel.cost_model is None:
        return f"with the algorithm {channel.algorithm}"
    return "beside this cost model"


def _cost_faults(
    lane: ChannelCost, network: Cluster, place: tuple[str, ...], body: ChannelBody
) -> list[Fault]:
    """List what is missing of the cost of one kind of collective on one channel."""
    try:
        cost_of(network, lane.kind)
    except InterlaceError as error:
        under = pointer(("cluster", *place))
        model = f"{under}/cost_model" if body.cost_model else under
        return [
            Fault(
                (under if f.code == FaultCode.NOT_MEASURED else model) + f.pointer,
                f.code,
                f"Channel {brief(lane.channel)!r}: {f.detail}",
            )
            for f in error.faults
        ]
    return []
