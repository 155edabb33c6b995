"""Scaling factors for several worker counts: predicted by OSF, simulated and planned.

All under the same barrier: the next forward pass waits for all updates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from solver.chain import chain_of
from solver.costs import Network
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build, with_barrier
from solver.models.layers import Layer
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies.ada_fusion import ada_fusion
from solver.policies.ddp import ddp
from solver.policies.horovod import horovod
from solver.policies.mg_wfbp import mg_wfbp
from solver.prediction.osf import csf, osf, osf_fusion
from solver.prediction.passes import Passes, passes_of_chain, why_no_chain
from solver.simulation.contention import is_contended
from solver.simulation.engine import Policy, costs_of, iteration_time, simulate
from solver.watchdog import TIME_LIMIT_S


@dataclass(frozen=True, slots=True)
class FusedFactor:
    """OSF with a fusion buffer.

    Attributes
    ----------
    buffer_bytes
        Size of the buffer; 0 for none.
    factor
        Null with ``why_no_osf``, as ``osf`` is.
    """

    buffer_bytes: int
    factor: float | None


@dataclass(frozen=True, slots=True)
class AdaFusionFactor:
    """OSF's adaptive fusion, simulated.

    Attributes
    ----------
    factor
        Null when the iteration takes no time.
    buckets
        How many launches it makes.
    """

    factor: float | None
    buckets: int


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """Scaling factors of so many workers: compute time / iteration time, all under a barrier.

    Attributes
    ----------
    workers
        Data-parallel ranks.
    csf
        All bytes in one all-reduce after the compute; null with ``why_no_osf``, as all that is
        OSF's.
    osf
        Each layer sent alone, beside the compute.
    osf_fusion
        Layers sent in fusion buffers, in the order asked.
    ada_fusion
        OSF's adaptive fusion, simulated.
    ddp
        PyTorch DDP with its defaults, simulated.
    horovod
        Horovod with its defaults, simulated.
    mg_wfbp
        The policy ``mg_wfbp``, simulated.
    plan
        Interlace's plan, fusion ``joint``.
    bound
        No fusion, partition or order has a larger factor.
    t_comp_us
        Compute alone [us].
    iteration_time_us
        Of ``osf``: t_comp_us + t_update_us - t_overlap_us [us].
    t_update_us
        By OSF: from the end of the last layer's backward pass to that of all [us].
    t_overlap_us
        By OSF: backward pass of the other layers, which may hide sends [us].
    cut
        What ended the search of the plan before its moves were done; null where nothing did.
    """

    workers: int
    csf: float | None
    osf: float | None
    osf_fusion: tuple[FusedFactor, ...]
    ada_fusion: AdaFusionFactor
    ddp: float | None
    horovod: float | None
    mg_wfbp: float | None
    plan: float | None
    bound: float | None
    t_comp_us: float
    iteration_time_us: float | None
    t_update_us: float | None
    t_overlap_us: float | None
    cut: str | None


@dataclass(frozen=True, slots=True)
class ScalingOptions:
    """What to predict.

    Attributes
    ----------
    buffers
        Fusion buffers to predict with [bytes]; 0 for no fusion.
    timeout
        Longest wait of a buffer for the next layer [us].
    paper_eq15
        See :func:`solver.prediction.osf.osf_fusion`.
    time_limit_s
        A watchdog: the plan of each row may take an equal share of it [s];
        see :class:`solver.planning.options.Options`.
    """

    buffers: tuple[int, ...] = ()
    timeout: float = 5_000.0
    paper_eq15: bool = False
    time_limit_s: float = TIME_LIMIT_S


def predict(
    graph: Graph,
    networks: Iterable[tuple[int, Network]],
    options: ScalingOptions = ScalingOptions(),
    passes: Passes | None = None,
) -> tuple[ScalingRow, ...]:
    """Predict one row for each number of workers and the network that they make.

    Parameters
    ----------
    graph
        One training iteration, which is simulated and planned.
    networks
        Worker counts, each with what a launch costs.
    options
        With which buffers, and how long to plan.
    passes
        The same iteration as the recursion reads it; None takes it from the graph, where that is a
        chain of all-reduces. Elsewhere :func:`solver.prediction.passes.why_no_chain` says why the
        figures of the recursion are None.

    Raises
    ------
    InvalidCluster
        When a lane in use has no cost.

    Notes
    -----
    Each plan has an equal share of what one alone may look at. Bytes and compute are those of the
    graph in every row: what grows is the number of workers, each with a batch of its own.
    """
    chain = chain_of(graph)
    if passes is None and why_no_chain(chain, graph) is None:
        passes = passes_of_chain(chain)
    gated, networks = with_barrier(graph), list(networks)
    share = 1 / max(1, len(networks))
    return tuple(_row(gated, passes, *each, options, share) for each in networks)


def graph_of(name: str, layers: Sequence[Layer]) -> Graph:
    """Build the iteration of layers in forward order that the recursion is about.

    Forward pass, backward pass layer by layer, updates: it ends with the last update, and nothing
    waits for one, which is what a barrier comes to. Each layer's gradients are one tensor.

    Raises
    ------
    InvalidGraph
        As :func:`solver.graph.build`, when no layer has bytes.
    """
    ops = [Op("forward", COMPUTE, sum(layer.forward_us for layer in layers))]
    last = "forward"
    for layer in reversed(layers):
        after, last = last, f"backward:{layer.name}"
        ops.append(Op(last, COMPUTE, layer.backward_us, None, (after,)))
        if size := sum(size for _, size in layer.gradients):
            ops.append(Op(f"grad:{layer.name}", ALL_REDUCE, None, size, (last,)))
    return build(name, ops)


def _row(
    graph: Graph,
    passes: Passes | None,
    workers: int,
    network: Network,
    options: ScalingOptions,
    share: float,
) -> ScalingRow:
    chain = chain_of(graph)
    costs, compute = costs_of(chain, network), chain.compute_time
    takes_time = any(cost.time(1) > 0 for cost in costs)
    if is_contended(graph, network):  # the recursion has fixed times
        passes = None
    alone = None if passes is None else osf(passes, costs[0])
    adaptive = simulate(graph, network, ada_fusion)

    def factor(policy: Policy) -> float | None:
        """Where launches take no time nothing is sent, and nothing waits."""
        time = iteration_time(graph, network, policy) if takes_time else compute
        return _share(compute, time)

    def fused(size: int) -> float | None:
        """Send in buffers, by the recursion."""
        if passes is None:
            return None
        how = {"paper_eq15": options.paper_eq15}
        return osf_fusion(passes, costs[0], size, options.timeout, **how).factor

    limit_s = options.time_limit_s * share
    how = Options(baselines=(), time_limit_s=limit_s, share=share, launch_tolerance=0)
    best = plan(graph, network, how)
    return ScalingRow(
        workers=workers,
        csf=None if passes is None else csf(passes, costs[0]),
        osf=alone.factor if alone else None,
        osf_fusion=tuple(FusedFactor(size, fused(size)) for size in options.buffers),
        ada_fusion=AdaFusionFactor(
            _share(compute, adaptive.iteration_time), len(adaptive.launches)
        ),
        ddp=factor(ddp),
        horovod=factor(horovod),
        mg_wfbp=factor(mg_wfbp),
        plan=best.scaling_factor,
        bound=_share(compute, best.lower_bound_us),
        t_comp_us=alone.t_comp if alone else compute,
        iteration_time_us=alone.iteration_time if alone else None,
        t_update_us=alone.t_update if alone else None,
        t_overlap_us=alone.t_overlap if alone else None,
        cut=best.cut,
    )


def _share(compute: float, time: float) -> float | None:
    """Scaling factor of an iteration [us]; None when it takes no time."""
    return compute / time if time > 0 else None
