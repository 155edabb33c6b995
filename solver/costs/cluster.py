"""Who takes part in a collective, and over what."""

from dataclasses import dataclass

from solver.codes import FaultCode
from solver.costs.cost_error import CostError
from solver.costs.functions.piecewise import PiecewiseCost
from solver.errors import Fault

RING = "ring"
RECURSIVE_DOUBLING = "recursive_doubling"
HALVING_DOUBLING = "halving_doubling"
DOUBLE_BINARY_TREE = "double_binary_tree"
HIERARCHICAL = "hierarchical"
PARAMETER_SERVER = "parameter_server"
IN_NETWORK = "in_network"
TABLE = "table"
LINEAR = "linear"
PIECEWISE = "piecewise"

#: The start-up [us] of a launch where nothing tells it.
ASSUMED_STARTUP_US = 50.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Workers and the network between them, as far as the algorithm needs it.

    Attributes
    ----------
    workers
        Ranks, at least 1.
    bandwidth_gbps
        Bandwidth between two workers [Gbit/s]; with ``hierarchical``, of a node's network card, or
        of each worker's own. Measured costs are scaled to it on request.
    startup_us
        Fixed cost of each launch [us]: negotiation and kernel launch.
    negotiation_us_per_worker
        What each launch takes more for each worker [us]: who is ready is asked of all of them.
    line_rate_share
        Share of ``bandwidth_gbps`` that the transport reaches, above 0 and at most 1.
    hop_us
        Fixed cost of each step of the algorithm [us].
    reduction_gbps
        Speed at which a worker adds two buffers [Gbit/s]; None when it costs nothing.
    algorithm
        Key of :data:`solver.costs.ALGORITHMS`.
    table
        Measured points (bytes, us) of the all-reduce for ``table``.
    tables
        Measured points of the other kinds for ``table``, by kind.
    channels
        The channels besides :data:`solver.graph.NETWORK`, by name, each with its own ranks.
    node_workers
        Ranks of a node for ``hierarchical``; they divide the workers.
    node_bandwidth_gbps, node_hop_us
        Bandwidth [Gbit/s] and step [us] between two ranks of a node.
    shared_nic
        The ranks of a node share one network card of ``bandwidth_gbps``; else each has its own.
    placement
        One of :data:`solver.costs.PLACEMENTS` for ``parameter_server``.
    constant_us, us_per_byte
        Fitted time of any launch, and of each byte [us], for ``linear``.
    piecewise
        The curve for ``piecewise``.
    measured_workers, measured_gbps
        Ranks and bandwidth [Gbit/s] of the measured costs; None when they are those above.
    extrapolate
        Scale measured costs to other ranks and another bandwidth, as a ring would.
    compute_slowdown
        While a launch is under way on any channel, compute takes so many times as long, at least 1,
        but for ops that state slowdowns themselves; of the cluster, not of its channels.
    shares
        The network card that carries it: channels that name the same one share its bandwidth. None
        for a card of its own.
    launch_slowdown
        While a rank that takes part computes, the bytes of its launches take so many times as long,
        at least 1.
    links
        Links by name, and the capacity of each [Gbit/s]; of the cluster, not of its channels.
    path
        The links that its launches cross, by name. Launches of several channels that cross a link
        at once share it max-min fairly, each at most as fast as its own cost says.
    priority
        Its class on these links: higher ones are served first.
    cost_error
        How far its costs are from what they were fitted to; None where nobody knows.
    """

    workers: int
    bandwidth_gbps: float | None = None
    startup_us: float = 0.0
    negotiation_us_per_worker: float = 0.0
    line_rate_share: float = 1.0
    hop_us: float = 0.0
    reduction_gbps: float | None = None
    algorithm: str = RING
    table: tuple[tuple[int, float], ...] = ()
    tables: tuple[tuple[str, tuple[tuple[int, float], ...]], ...] = ()
    channels: tuple[tuple[str, "Cluster"], ...] = ()
    node_workers: int | None = None
    node_bandwidth_gbps: float | None = None
    node_hop_us: float = 0.0
    shared_nic: bool = True
    placement: str = "cs"
    constant_us: float = 0.0
    us_per_byte: float | None = None
    piecewise: PiecewiseCost | None = None
    measured_workers: int | None = None
    measured_gbps: float | None = None
    extrapolate: bool = False
    compute_slowdown: float = 1.0
    shares: str | None = None
    launch_slowdown: float = 1.0
    links: tuple[tuple[str, float], ...] = ()
    path: tuple[str, ...] = ()
    priority: int = 0
    cost_error: CostError | None = None


def missing_fields(cluster: Cluster, *fields: str) -> list[Fault]:
    """Find which fields the cluster's algorithm needs and does not have."""
    return [
        Fault(
            f"/{field}",
            FaultCode.MISSING_FIELD,
            f"The algorithm {cluster.algorithm} needs {field}.",
        )
        for field in fields
        if getattr(cluster, field) is None
    ]
