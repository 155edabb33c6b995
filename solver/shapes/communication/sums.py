"""The sums of a shape's gradients as a graph: layer by layer, beside the last backward passes."""

from solver.costs import Cluster
from solver.graph import ALL_REDUCE, COMPUTE, REDUCE_SCATTER, Graph, Op, build
from solver.graph.names import GRADIENT
from solver.shapes.communication.group_costs import data_channel
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.pipeline.replay import FlatOrder, flat_order
from solver.shapes.stage_times import StageTimes, stage_times
from solver.shapes.step import flat_times
from solver.shapes.step_ends import layer_parameters
from solver.shapes.transformer import Transformer

#: The op that waits for all sums: the norm of all gradients is known, and the optimizer may run.
_NORM = "norm"

#: The end of the names of experts' gradients, and of the channel of their sums.
_EXPERTS = "experts"


def sums_graph(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> tuple[Graph, Cluster]:
    """Return a step in which each layer's gradients may be sent as soon as they are there.

    Sums do not move passes, so when those run is taken from the pipeline's order. The last pass
    that adds to a virtual stage's gradients takes as long for each of its layers, from the last
    one to the first; the head's gradients come with the last layer's, the embedding's with the
    first one's. The optimizers of all ranks wait for all sums, as where gradients are clipped by
    the norm of all of them; what comes then takes as long as in the ranked step.

    Returns
    -------
    Graph
        Pipeline rank r has the stream ``r/compute`` and sums on ``r/data``: all-reduces, or where
        the optimizer is sharded reduce-scatters. Gradients of experts that are split are summed on
        ``r/experts``, over the same card.
    Cluster
        The cost of its channels.

    Notes
    -----
    O(passes).
    """
    times = stage_times(model, cluster, shape, known)
    order = flat_order(shape.schedule, shape.pp, shape.vpp, shape.micro_batches)
    order.run(*flat_times(shape, times))
    kind = ALL_REDUCE if shape.sharding == "none" else REDUCE_SCATTER
    gradients = _gradients(model, shape)
    ops: list[Op] = []
    last_ops: list[str] = []
    channels = []
    for rank in range(shape.pp):
        own = _rank_ops(rank, shape, times, order, gradients, kind)
        ops += own
        last_ops += [op.id for op in own if op.kind != COMPUTE]
        last_ops.append(next(op.id for op in reversed(own) if op.kind == COMPUTE))
        names = sorted({op.channel for op in own if op.kind != COMPUTE})
        for name in names:
            most = sum(op.bytes or 0 for op in own if op.channel == name)
            costs = data_channel(
                cluster,
                shape,
                known,
                {kind: known.reduction_us},
                most,
                of_experts=name.endswith(_EXPERTS),
                card=f"card {rank}" if len(names) > 1 else None,
            )
            channels.append((name, costs))
    ops.append(Op(_NORM, COMPUTE, 0.0, None, tuple(last_ops)))
    ends = [times.optimizers[rank] + times.gathers[rank] for rank in range(shape.pp)]
    for rank in {0, shape.pp - 1}:
        ends[rank] += times.tied_us
    ops.append(Op("optimizer", COMPUTE, max(ends) + times.step_us, None, (_NORM,)))
    graph = build(f"{model.name} {shape}: sums of gradients", ops)
    return graph, Cluster(1, 1.0, channels=tuple(channels))


def _gradients(model: Transformer, shape: JobShape) -> list[list[list[tuple[str, int]]]]:
    """Name the gradients of each layer of each virtual stage, with their bytes, backward."""

    def sized(name: str, parameters: float) -> tuple[str, int]:
        return f"{GRADIENT}{name}", round(shape.gradient_bytes * parameters)

    layers = []
    for k, (dense, experts) in enumerate(layer_parameters(model, shape)):
        if shape.ep == 1:
            layers.append([sized(f"layer{k}", dense + experts)])
            continue
        layers.append([sized(f"layer{k}", dense)])
        if experts and shape.cp * shape.dp > shape.ep:  # else nobody else holds the same ones
            layers[-1].append(sized(f"layer{k}.{_EXPERTS}", experts))
    counts = shape.stage_layers(model.layers)
    stages = [
        layers[first : first + count][::-1] or [[]]
        for first, count in zip(shape.firsts(model.layers), counts, strict=True)
    ]
    end = model.embedding_parameters / shape.tp
    stages[0][-1].append(sized("embedding", end))
    if not (model.tied and shape.ranks[0] == shape.ranks[-1]):
        stages[-1][0].append(sized("head", end))
    return stages


def _rank_ops(
    rank: int,
    shape: JobShape,
    times: StageTimes,
    order: FlatOrder,
    gradients: list[list[list[tuple[str, int]]]],
    kind: str,
) -> list[Op]:
    """Lay out a rank: what comes before a last pass is one op, waits included."""
    stream = f"{rank}/compute"
    ops: list[Op] = []
    now = 0.0
    for stage in sorted(shape.stages_of(rank), key=lambda k: order.last_of_stages[k]):
        i = order.last_of_stages[stage]
        long = times.passes[stage][order.passes[i].kind]
        start = max(now, order.ends[i] - long)
        ops.append(Op(f"before stage {stage}", COMPUTE, start - now, None, (), stream=stream))
        pieces = gradients[stage]
        for k, piece in enumerate(pieces):
            name = f"stage {stage} part {k}"
            ops.append(Op(name, COMPUTE, long / len(pieces), None, (), stream=stream))
            for tensor, size in piece:
                channel = f"{rank}/{_EXPERTS if tensor.endswith(_EXPERTS) else 'data'}"
                ops.append(Op(tensor, kind, None, size, (name,), channel))
        now = order.ends[i]
    rest = order.ends[order.last_of_ranks[rank]] - now
    if rest > 0:
        ops.append(Op(f"rest {rank}", COMPUTE, rest, None, (), stream=stream))
    return ops
