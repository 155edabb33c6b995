"""From layers to an iteration whose parameters, or whose layers themselves, are split.

Both graphs run from the start of the forward pass to the end of the optimizer step, which waits
for all gradients, as in PyTorch and Megatron-LM; the next iteration waits for the step, so
nothing crosses from one iteration into the next. All compute ops are in one stream: a GPU runs
its kernels one after another. In which order a channel carries the collectives is left to the
policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, NETWORK, REDUCE_SCATTER, Graph, Op, build
from solver.models.layers import Layer

#: The stream of all compute ops.
GPU = "gpu"


#: The channel between the GPUs of one node.
NVLINK = "nvlink"


#: Memory traffic of Adam [bytes per parameter]: weight, gradient and two moments in 32-bit are
#: read, all but the gradient written.
ADAM_BYTES = 28


def fsdp(
    name: str,
    layers: Sequence[Layer],
    shards: int | None = None,
    limit: int = 2,
    step_us: float = 0.0,
) -> Graph:
    """Build the iteration of fully sharded data parallelism (FSDP, ZeRO-3).

    Each layer is one unit: its parameters, as large as its gradients, are gathered before its
    forward op (``gather:``), freed after it, gathered again before its backward op
    (``regather:``), freed after it, and its gradients reduced and scattered (``scatter:``). The
    last layer stays gathered in between, as its backward op comes next.

    The memory for gathered parameters is limited as by PyTorch's ``limit_all_gathers`` with
    ``backward_prefetch=BACKWARD_PRE``: in the forward pass a layer is gathered once the layer
    ``limit`` before it is freed, in the backward pass the one ``limit`` + 1 before it, because
    there the next layer's gather is asked for before the current layer runs.

    Parameters
    ----------
    name
        Name of the graph.
    layers
        The units in forward order, each with gradients; :func:`solver.models.layers.merged` makes
        one unit of several layers.
    shards
        None: parameters are sharded over all workers, and everything goes over the channel
        ``network``. Else hybrid sharding (HSDP): they are sharded over so many workers of a node
        on the channel ``nvlink``, and each worker's shard of the gradients is then all-reduced
        between the nodes over ``network`` (``grad:``).
    limit
        How many layers of the forward pass may be gathered at once; 2 in PyTorch.
    step_us
        Time of the optimizer step [us].

    Returns
    -------
    Graph
        With n layers, 2n - 1 all-gathers and n reduce-scatters, and with ``shards`` n all-reduces.

    Raises
    ------
    InvalidGraph
        No layers, a layer without gradients, ``shards`` or ``limit`` below 1; and as
        :func:`solver.graph.build`.

    References
    ----------
    .. [1] Y. Zhao et al., PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel,
           PVLDB 16(12), 2023, Sections 3.2.2 (hybrid sharding), 3.3.2 and 3.4.
    """
    _check_units(layers, shards, limit)
    within = NETWORK if shards is None else NVLINK
    last = len(layers) - 1
    forward = [f"forward:{layer.name}" for layer in layers]
    backward = [f"backward:{layer.name}" for layer in layers]
    frees = [*forward[:-1], *reversed(backward)]  # what frees the parameters of each gather
    ops: list[Op] = []
    done: tuple[str, ...] = ()
    reduced: list[str] = []
    for i, layer in enumerate(layers):
        gather = f"gather:{layer.name}"
        room = (frees[i - limit],) if i >= limit else ()
        ops.append(Op(gather, ALL_GATHER, None, _size(layer), room, within))
        ops.append(
            Op(forward[i], COMPUTE, layer.forward_us, None, (*done, gather), stream=GPU),
        )
        done = (forward[i],)
    for i, layer in reversed(list(enumerate(layers))):
        size = _size(layer)
        if i < last:
            gather = f"regather:{layer.name}"
            room = (frees[max(i, 2 * last - i - limit - 1)],)  # its own forward op at the earliest
            ops.append(Op(gather, ALL_GATHER, None, size, room, within))
            done = (*done, gather)
        ops.append(Op(backward[i], COMPUTE, layer.backward_us, None, done, stream=GPU))
        done = (backward[i],)
        reduced.append(f"scatter:{layer.name}")
        ops.append(Op(reduced[-1], REDUCE_SCATTER, None, size, done, within))
        if shards is not None:
            share = -(-size // shards)
            ops.append(Op(f"grad:{layer.name}", ALL_REDUCE, None, share, (reduced[-1],)))
            reduced[-1] = f"grad:{layer.name}"
    ops.append(Op("optimizer", COMPUTE, step_us, None, tuple(reduced), stream=GPU))
    return build(name, ops)


def _size(layer: Layer) -> int:
    return sum(size for _, size in layer.gradients)


def _check_units(layers: Sequence[Layer], shards: int | None, limit: int) -> None:
    faults = [
        Fault(
            f"/layers/{i}/gradients",
            FaultCode.MISSING_FIELD,
            f"Layer {layer.name!r} has no gradients.",
        )
        for i, layer in enumerate(layers)
        if not layer.gradients
    ]
    if not layers:
        faults.append(Fault("/layers", FaultCode.MISSING_FIELD, "There are no layers."))
    faults += not_positive(shards=1 if shards is None else shards, limit=limit)
    if faults:
        raise InvalidGraph(faults)


@dataclass(frozen=True, slots=True)
class ActivationExchange:
    """Activations that the GPUs of a node exchange between two layers.

    What crosses in the forward pass crosses back in the backward pass: an all-reduce becomes
    nothing and the reverse (Megatron-LM's f and g), an all-gather a reduce-scatter (sequence
    parallelism), an all-to-all another one (expert parallelism).

    Attributes
    ----------
    name
        Unique among exchanges and layers.
    bytes
        Size of the whole tensor [bytes].
    forward, backward
        Kind of the collective in each pass, None for none.
    """

    name: str
    bytes: int
    forward: str | None
    backward: str | None


def model_parallel(
    name: str, steps: Sequence[Layer | ActivationExchange], step_us: float = 0.0
) -> Graph:
    """Build the iteration of layers that are split over the GPUs of a node.

    The steps run one after another, forward and then back; exchanges go over the channel
    ``nvlink`` and hold up what comes next. A layer's gradients (``grad:``), those of this GPU's
    part of it, are all-reduced with the same part on the other nodes over ``network`` once its
    backward op has ended.

    Parameters
    ----------
    name
        Name of the graph.
    steps
        Layers and the exchanges between them in forward order; times and gradients of one GPU.
    step_us
        Time of the optimizer step [us].

    Raises
    ------
    InvalidGraph
        As :func:`solver.graph.build`.

    References
    ----------
    .. [1] M. Shoeybi et al., Megatron-LM: Training Multi-Billion Parameter Language Models Using
           Model Parallelism, 2019, Section 3.
    """
    ops: list[Op] = []
    done: tuple[str, ...] = ()
    reduced: list[str] = []
    for is_forward, step in [*((True, s) for s in steps), *((False, s) for s in reversed(steps))]:
        op = _pass(step, done, is_forward=is_forward)
        if op is None:
            continue
        ops.append(op)
        done = (op.id,)
        if isinstance(step, Layer) and not is_forward:
            ops += [Op(f"grad:{g}", ALL_REDUCE, None, size, done) for g, size in step.gradients]
            reduced += [f"grad:{g}" for g, _ in step.gradients]
    ops.append(Op("optimizer", COMPUTE, step_us, None, (*done, *reduced), stream=GPU))
    return build(name, ops)


def _pass(
    step: Layer | ActivationExchange, after: tuple[str, ...], *, is_forward: bool
) -> Op | None:
    """Return the op of a step in one of the passes; None for an exchange that is not in it."""
    name = f"{'forward' if is_forward else 'backward'}:{step.name}"
    if isinstance(step, Layer):
        time = step.forward_us if is_forward else step.backward_us
        return Op(name, COMPUTE, time, None, after, stream=GPU)
    kind = step.forward if is_forward else step.backward
    return Op(name, kind, None, step.bytes, after, NVLINK) if kind else None


def adam_us(parameters: float, bytes_per_us: float) -> float:
    """Time [us] of an Adam step over so many parameters at the speed of a GPU's memory."""
    return ADAM_BYTES * parameters / bytes_per_us


def not_positive(**values: float) -> list[Fault]:
    """List the arguments that should be positive and are not."""
    return [
        Fault(f"/{field}", FaultCode.OUT_OF_RANGE, f"{field} must be positive, got {value}.")
        for field, value in values.items()
        if value <= 0
    ]
