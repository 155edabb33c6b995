"""Scaling factors for several worker counts: predicted by OSF, simulated and planned.

All under the same barrier: the next forward pass waits for all updates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from solver.chain import chain_of
from solver.costs import Network
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build, with_barrier
from solver.models.layers import Layer
from solver.planning.plan import Options, plan
from solver.policies.ada_fusion import ada_fusion
from solver.policies.ddp import ddp
from solver.policies.horovod import horovod
from solver.policies.mg_wfbp import mg_wfbp
from solver.prediction.osf import csf, osf, osf_fusion
from solver.prediction.passes import Passes, passes_of
from solver.simulation.engine import Policy, simulate


@dataclass(frozen=True, slots=True)
class FusionFactor:
    """OSF with a fusion buffer of so many bytes."""

    buffer_bytes: int
    factor: float | None


@dataclass(frozen=True, slots=True)
class AdaFusion:
    """OSF's own policy, and how many launches it makes."""

    factor: float | None
    buckets: int


@dataclass(frozen=True, slots=True)
class Row:
    """What so many workers give; a factor is compute time / iteration time.

    Attributes
    ----------
    workers
        Data-parallel ranks.
    csf, osf, osf_fusion
        From the recursion: all in one all-reduce, each layer alone, with buffers.
    ddp, horovod, ada_fusion, mg_wfbp
        Policies of today, simulated.
    plan
        The plan with the fusion ``joint``.
    bound
        No fusion, partition or order has a larger factor.
    iteration_time_us, t_comp_us, t_update_us, t_overlap_us
        Of ``osf`` [us].
    """

    workers: int
    csf: float | None
    osf: float | None
    osf_fusion: tuple[FusionFactor, ...]
    ada_fusion: AdaFusion
    ddp: float | None
    horovod: float | None
    mg_wfbp: float | None
    plan: float | None
    bound: float | None
    iteration_time_us: float
    t_comp_us: float
    t_update_us: float
    t_overlap_us: float


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
        After this time all plans together are the best so far [s].
    """

    buffers: tuple[int, ...] = ()
    timeout: float = 5_000.0
    paper_eq15: bool = False
    time_limit_s: float = 10.0


def predict(
    graph: Graph,
    networks: Iterable[tuple[int, Network]],
    options: ScalingOptions = ScalingOptions(),
    passes: Passes | None = None,
) -> tuple[Row, ...]:
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
        The same iteration as the recursion reads it; None takes it from the graph.

    Raises
    ------
    InvalidGraph
        When the graph is no chain of all-reduces.

    Notes
    -----
    Each plan has an equal share of the time limit.
    """
    passes = passes or passes_of(graph)
    gated, networks = with_barrier(graph), list(networks)
    limit = options.time_limit_s / max(1, len(networks))
    return tuple(_row(gated, passes, *each, options, limit) for each in networks)


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
    passes: Passes,
    workers: int,
    network: Network,
    options: ScalingOptions,
    limit: float,
) -> Row:
    compute = chain_of(graph).compute_time
    (cost,) = map(network, chain_of(graph).lanes)
    alone = osf(passes, cost)
    adaptive = simulate(graph, network, ada_fusion)

    def factor(policy: Policy) -> float | None:
        """One worker sends nothing, and waits for nothing."""
        time = simulate(graph, network, policy).iteration_time if workers > 1 else compute
        return _share(compute, time)

    best = plan(graph, network, Options(baselines=(), time_limit_s=limit))
    buffers = (
        osf_fusion(passes, cost, size, options.timeout, paper_eq15=options.paper_eq15)
        for size in options.buffers
    )
    return Row(
        workers=workers,
        csf=csf(passes, cost),
        osf=alone.factor,
        osf_fusion=tuple(
            FusionFactor(size, found.factor)
            for size, found in zip(options.buffers, buffers, strict=True)
        ),
        ada_fusion=AdaFusion(_share(compute, adaptive.iteration_time), len(adaptive.launches)),
        ddp=factor(ddp),
        horovod=factor(horovod),
        mg_wfbp=factor(mg_wfbp),
        plan=best.scaling_factor,
        bound=_share(compute, best.lower_bound_us),
        iteration_time_us=alone.iteration_time,
        t_comp_us=alone.t_comp,
        t_update_us=alone.t_update,
        t_overlap_us=alone.t_overlap,
    )


def _share(compute: float, time: float) -> float | None:
    """Scaling factor of an iteration [us]; None when it takes no time."""
    return compute / time if time > 0 else None
