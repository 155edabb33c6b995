"""A micro-batch of sharded parameters as a graph: units that are gathered, and their gradients."""

from solver.costs import Cluster
from solver.graph import ALL_GATHER, NETWORK, REDUCE_SCATTER, Graph, build
from solver.models.layers import Layer
from solver.models.parallel import fsdp
from solver.shapes.communication.group_costs import data_channel
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.layer_times import ELEMENT, layer_times
from solver.shapes.stage_times import end_passes
from solver.shapes.step_ends import layer_parameters, step_ends
from solver.shapes.transformer import Transformer


def units_graph(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> tuple[Graph, Cluster]:
    """Return one of a step's micro-batches, with its share of the optimizer.

    The embedding, each layer and the head are units (:func:`solver.models.parallel.fsdp`), gathered
    in 16 bit; their gradients are scattered in ``gradient_bytes``. So many such graphs one after
    another are a step without a pipeline, but for what one micro-batch could send beside another.
    """
    units = _units(model, cluster, shape, known)
    *_, (optimizer,), _ = step_ends(model, cluster, shape, known)
    share = (optimizer + known.step_us) / shape.micro_batches
    graph = fsdp(f"{model.name} {shape}: a micro-batch", units, step_us=share)
    wider = shape.gradient_bytes // ELEMENT
    ops = [
        op._replace(bytes=(op.bytes or 0) * wider) if op.kind == REDUCE_SCATTER else op
        for op in graph.ops
    ]
    most = sum(op.bytes or 0 for op in ops if op.kind == REDUCE_SCATTER)
    startups = dict.fromkeys((ALL_GATHER, REDUCE_SCATTER), known.launch_us)
    costs = data_channel(cluster, shape, known, startups, most)
    return build(graph.name, ops), Cluster(1, 1.0, channels=((NETWORK, costs),))


def _units(
    model: Transformer, cluster: TrainingCluster, shape: JobShape, known: Efficiencies
) -> list[Layer]:
    first, last = end_passes(model, cluster, shape, known)
    sizes = [round(ELEMENT * sum(parameters)) for parameters in layer_parameters(model, shape)]
    end = round(ELEMENT * model.embedding_parameters / shape.tp)
    units = [Layer("embedding", *first, (("embedding", end),))]
    for k, size in enumerate(sizes):
        block = next(block for block, count in model.layer_counts(k, 1) if count)
        passes = layer_times(block, cluster, shape, known)
        tensors = ((f"layer{k}", size),)
        units.append(Layer(f"layer{k}", passes.forward_us, passes.backward_us, tensors))
    if model.tied:  # its weights are the embedding's, which stay gathered
        units[-1] = Layer(
            units[-1].name,
            units[-1].forward_us + last[0],
            units[-1].backward_us + last[1],
            units[-1].gradients,
        )
    else:
        units.append(Layer("head", *last, (("head", end),)))
    return units
