"""What is wrong with a sweep of programs that fits the schema."""

from collections.abc import Iterator, Mapping, Sequence

from app.reading.wording import brief
from app.schemas.clusters import ChannelBody
from app.schemas.sweeps import AXES, SweepRequest
from app.services.channels import is_fixed
from app.services.sweeps.faults import axis_faults, swept_faults, work_faults
from solver.codes import FaultCode
from solver.costs import ChannelCost, Cost, network_of
from solver.errors import Fault, InvalidCluster
from solver.graph import NETWORK, Graph
from solver.prediction.sweep import PLAN
from solver.programs.problem import lane_of

#: How many channels are named in a sentence.
_MOST = 3


def program_sweep_faults(graph: Graph, request: SweepRequest) -> list[Fault]:
    """List all faults, as :func:`app.services.sweeps.faults.sweep_faults` does of other graphs."""
    cells = len(request.limited_points())
    rules = [each for each in request.program_choices() if each.policy != PLAN]
    steps = cells * len(rules) * len(graph.ops)
    return (
        [*axis_faults(request), *_repeated(request)]
        or [*swept_faults(graph, request), *work_faults(request, cells, steps, "ops")]
        or list(_idle_faults(graph, request))
    )


def _repeated(request: SweepRequest) -> Iterator[Fault]:
    """List the policies that are named again; they have no parameters."""
    names = [choice.policy for choice in request.program_choices()]
    for i, name in enumerate(names):
        if (first := names.index(name)) < i:
            detail = f"Policy {name} is at {first} already; each is swept once."
            yield Fault(f"/policies/{i}", FaultCode.DUPLICATE_ID, detail)


def _idle_faults(graph: Graph, request: SweepRequest) -> Iterator[Fault]:
    """Refuse an axis that the cost of no launch follows: all its cells would be equal."""
    lanes = list({lane_of(graph, i): None for i in graph.collectives})
    if not lanes:
        return
    networks = request.cluster.networks()
    used = {lane.channel: networks[lane.channel][1] for lane in lanes}
    most = max(request.workers, default=request.cluster.workers)
    sends = most > 1 or any(is_fixed(name, channel) for name, channel in used.items())
    for axis, field in AXES.items():
        if not getattr(request, axis) or (axis != "workers" and not sends):
            continue
        if not _counts(lanes, request, axis):
            whys = ", ".join(_why(name, channel, axis) for name, channel in _few(used))
            what = "number of workers" if axis == "workers" else field
            more = f" and {len(used) - _MOST:,} more alike" if len(used) > _MOST else ""
            detail = (
                f"Sweep: no launch of this graph costs less or more with another {what}: "
                f"{whys}{more}; leave {axis} out."
            )
            yield Fault(f"/{axis}", FaultCode.EXTRA_FIELD, detail)


def _few(used: Mapping[str, ChannelBody]) -> list[tuple[str, ChannelBody]]:
    return list(used.items())[:_MOST]


def _why(name: str, channel: ChannelBody, axis: str) -> str:
    """Say why a channel does not follow an axis."""
    what = "the network" if name == NETWORK else f"channel {brief(name)!r}"
    if axis == "workers" and is_fixed(name, channel):
        return f"{what} has workers of its own"
    if axis != "workers" and name != NETWORK:
        return f"{what} has costs of its own"
    algorithm = (channel.cost_model or channel).algorithm
    return f"{what} has the costs of its {algorithm} whatever that is"


def _counts(lanes: Sequence[ChannelCost], request: SweepRequest, axis: str) -> bool:
    """Tell whether a cost depends on what is swept: on the least, and on more than the most."""
    values = getattr(request, axis)
    most = max(request.workers, default=request.cluster.workers)

    def costs(value: float) -> list[Cost]:
        cluster = request.cluster.model_copy(update={"workers": most, AXES[axis]: value})
        return list(map(network_of(cluster.to_cluster()), lanes))

    try:
        return costs(min(values)) != costs(2 * max(values) + 1)
    except InvalidCluster:
        return True  # measured with the only value
