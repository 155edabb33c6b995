"""From layers to one training iteration, as a framework runs it on one GPU."""

from collections.abc import Sequence
from dataclasses import dataclass

from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of the forward pass.

    Attributes
    ----------
    name
        Unique in the model.
    forward_us, backward_us
        Compute time of each pass [us].
    gradients
        Name and bytes of each tensor to all-reduce, names unique in the model.
    update_us
        Time of the optimizer's update of the layer, before its forward pass [us].
    """

    name: str
    forward_us: float
    backward_us: float
    gradients: tuple[tuple[str, int], ...] = ()
    update_us: float = 0.0


def iteration(name: str, layers: Sequence[Layer]) -> Graph:
    """Build the iteration of layers given in forward order.

    The backward pass runs from the last layer to the first, one op after another; a layer's
    gradients (``grad:``) are released by its backward op, and the next iteration's forward op of
    that layer waits for them; where the optimizer's update takes time it is an op between the two
    (``update:``), on the same GPU.
    """
    ops: list[Op] = []
    last: tuple[str, ...] = ()
    for layer in reversed(layers):
        backward = f"backward:{layer.name}"
        ops.append(Op(backward, COMPUTE, layer.backward_us, None, last))
        last = (backward,)
        ops += [Op(f"grad:{g}", ALL_REDUCE, None, size, last) for g, size in layer.gradients]
    for layer in layers:
        gradients = tuple(f"grad:{gradient}" for gradient, _ in layer.gradients)
        waits = last + gradients
        if layer.update_us:
            update = f"update:{layer.name}"
            ops.append(Op(update, COMPUTE, layer.update_us, None, waits))
            waits = (update,)
        forward = f"forward:{layer.name}"
        ops.append(Op(forward, COMPUTE, layer.forward_us, None, waits))
        last = (forward,)
    return build(name, ops)


def merge_layers(name: str, layers: Sequence[Layer]) -> Layer:
    """Return layers that follow one another as one layer: times summed, gradients in order."""
    return Layer(
        name,
        sum(layer.forward_us for layer in layers),
        sum(layer.backward_us for layer in layers),
        tuple(gradient for layer in layers for gradient in layer.gradients),
        sum(layer.update_us for layer in layers),
    )
