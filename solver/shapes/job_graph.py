"""A shape as a graph of the library: one pipeline of its ranks, with all that they wait for."""

from collections import defaultdict

from solver.costs import TABLE, Cluster
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, SEND_RECV, Graph, Op, build
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.pipeline.orders import WEIGHTS, Pass
from solver.shapes.pipeline.replay import FlatOrder, flat_order, needed
from solver.shapes.stage_times import StageTimes, message_bytes, stage_times
from solver.shapes.transformer import Transformer

_LETTERS = "FBW"

#: Bytes that stand for a sum of gradients whose time is known: the cost is a table of these.
_SUM_BYTES = 1_000_000


def job_graph(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> tuple[Graph, Cluster]:
    """Return a step as a graph, and the cost of its channels.

    The passes of pipeline rank r are ops ``F2.0``, ``B2.0`` and ``W2.0`` (virtual stage 2,
    micro-batch 0) of the stream ``r/compute``. Messages go from rank to rank on the channel
    ``r-s``, sums of gradients on ``r/data``; collectives inside a pass are part of its time, as all
    ranks of their group are alike.

    Raises
    ------
    InvalidGraph
        When nothing is sent between passes, as on one GPU.

    Notes
    -----
    O(passes). Simulated under ``wfbp``, it takes the time that
    :func:`solver.shapes.step.simulate_step` finds.
    """
    times = stage_times(model, cluster, shape, known)
    order = flat_order(shape.schedule, shape.pp, shape.vpp, shape.micro_batches)
    channels = _message_channels(model, shape, times)
    ops = _pass_ops(model, shape, times, order)
    ends, sums = _end_ops(shape, times, order)
    name = f"{model.name} {shape}"
    return build(name, [*ops, *ends]), Cluster(
        1, 1.0, channels=tuple(sorted({**channels, **sums}.items()))
    )


def _message_channels(model: Transformer, shape: JobShape, times: StageTimes) -> dict[str, Cluster]:
    channels = {}
    size = message_bytes(model, shape)
    for rank in range(shape.pp if shape.pp > 1 else 0):
        other = (rank + 1) % shape.pp
        points = ((size, times.messages[rank]), (2 * size, 2 * times.messages[rank]))
        table = Cluster(2, algorithm=TABLE, tables=((SEND_RECV, points),))
        channels[f"{rank}-{other}"] = channels[f"{other}-{rank}"] = table
    return channels


def _pass_ops(model: Transformer, shape: JobShape, times: StageTimes, order: FlatOrder) -> list[Op]:
    """Return the passes and messages; the last of a virtual stage in pieces, where it gives so."""
    stages = shape.stages_of_way
    size = message_bytes(model, shape)
    last = set(order.last_of_stages)
    sends = {needed(step, stages) for step in order.passes if step.kind != WEIGHTS}
    ops: list[Op] = []
    for i, step in enumerate(order.passes):
        rank = shape.ranks[step.stage]
        source = needed(step, stages)
        after: tuple[str, ...] = ()
        if source is not None:
            is_here = shape.ranks[source.stage] == rank
            after = (_name(source) if is_here else f"send {_name(source)}",)
        long = times.passes[step.stage][step.kind]
        pieces = shape.overlapped_buckets if i in last else 1
        for piece in range(1, pieces):
            name = f"{_name(step)} part {piece}"
            ops.append(Op(name, COMPUTE, long / pieces, None, after, stream=f"{rank}/compute"))
            after = (name,)
        ops.append(Op(_name(step), COMPUTE, long / pieces, None, after, stream=f"{rank}/compute"))
        if step in sends and order.channel[i] >= 0:
            here, there = divmod(order.channel[i], shape.pp)
            name = f"send {_name(step)}"
            ops.append(Op(name, SEND_RECV, None, size, (_name(step),), f"{here}-{there}"))
    return ops


def _name(step: Pass) -> str:
    return f"{_LETTERS[step.kind]}{step.stage}.{step.micro_batch}"


def _end_ops(
    shape: JobShape, times: StageTimes, order: FlatOrder
) -> tuple[list[Op], dict[str, Cluster]]:
    """Return sums of gradients, optimizers and gathers, and the costs of the sums."""
    ops: list[Op] = []
    summed: dict[int, list[str]] = defaultdict(list)
    points: dict[int, list[tuple[int, float]]] = defaultdict(list)
    pieces = shape.overlapped_buckets
    for stage, i in sorted(enumerate(order.last_of_stages), key=lambda each: each[1]):
        rank = shape.ranks[stage]
        whole = _name(order.passes[i])
        summed[rank].append(whole)
        if times.reductions[stage]:
            size = _SUM_BYTES * (1 + stage // shape.pp)
            points[rank].append((size, times.reductions[stage] / pieces))
            for piece in range(1, pieces + 1):
                after = whole if piece == pieces else f"{whole} part {piece}"
                summed[rank].append(f"sum {stage}.{piece}")
                ops.append(Op(summed[rank][-1], ALL_REDUCE, None, size, (after,), f"{rank}/data"))
    channels: dict[str, Cluster] = {}
    if times.tied_us:
        ends = sorted({0, shape.pp - 1})
        after_all = tuple(name for rank in ends for name in summed[rank])
        ops.append(Op("sum tied", ALL_REDUCE, None, _SUM_BYTES, after_all, "tied"))
        tied = ((_SUM_BYTES, times.tied_us), (2 * _SUM_BYTES, 2 * times.tied_us))
        channels["tied"] = Cluster(2, algorithm=TABLE, table=tied)
        for rank in ends:
            summed[rank].append("sum tied")
    done = []
    for rank in range(shape.pp):
        done.append(f"optimizer {rank}")
        after_sums = (*summed[rank], _name(order.passes[order.last_of_ranks[rank]]))
        ops.append(
            Op(
                done[-1],
                COMPUTE,
                times.optimizers[rank],
                None,
                tuple(dict.fromkeys(after_sums)),
                stream=f"{rank}/compute",
            )
        )
        gather = times.gathers[rank]
        if gather:
            ops.append(
                Op(f"gather {rank}", ALL_GATHER, None, _SUM_BYTES, (done[-1],), f"{rank}/data")
            )
            done[-1] = f"gather {rank}"
        if points[rank] or gather:
            channels[f"{rank}/data"] = _data_channel(points[rank], gather)
    ops.append(Op("step", COMPUTE, times.step_us, None, tuple(done)))
    return ops, channels


def _data_channel(points: list[tuple[int, float]], gather: float) -> Cluster:
    """Return a channel whose launches take what is known of them."""
    table = sorted(points)
    if table:
        table.append((2 * table[-1][0], 2 * table[-1][1]))
    gathers = ((_SUM_BYTES, gather), (2 * _SUM_BYTES, 2 * gather)) if gather else ()
    tables = ((ALL_GATHER, gathers),) if gathers else ()
    return Cluster(2, algorithm=TABLE, table=tuple(table), tables=tables)
