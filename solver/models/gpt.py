"""GPT models split over the GPUs of a node: Megatron-LM's tensor parallelism.

Dimensions are published, time is split by FLOPs; nothing here is measured.
"""

from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph
from solver.graph import ALL_REDUCE, Graph
from solver.models.layers import Layer
from solver.models.parallel import ActivationExchange, adam_us, model_parallel, not_positive

#: What Megatron-LM sustains on one V100 in 16-bit [FLOP/us]: 39 TFLOP/s.
SPEED = 39e6


#: Memory bandwidth of a V100 [bytes/us].
MEMORY = 0.9e6


@dataclass(frozen=True, slots=True)
class Gpt:
    """Dimensions of a GPT-2-like Transformer.

    Attributes
    ----------
    depth, width, heads
        Layers, hidden size, attention heads.
    vocabulary
        Rows of the embedding, the padding included.
    tokens
        Length of a sample, as many learned positions.
    """

    depth: int
    width: int
    heads: int
    vocabulary: int = 51_200
    tokens: int = 1_024


#: The models of Megatron-LM's scaling study [1]_, Table 1, by billions of parameters, and over how
#: many GPUs each is split. Its Section 5.1 pads the vocabulary to 51,200.
#:
#: .. [1] M. Shoeybi et al., Megatron-LM, 2019.
MEGATRON = {
    "1.2": (Gpt(40, 1536, 16), 1),
    "2.5": (Gpt(54, 1920, 20), 2),
    "4.2": (Gpt(64, 2304, 24), 4),
    "8.3": (Gpt(72, 3072, 32), 8),
}


def tensor_parallel_gpt(
    name: str, gpt: Gpt, ways: int, batch: int = 8, flops_per_us: float = SPEED
) -> Graph:
    r"""Split a GPT over the GPUs of a node as Megatron-LM does; its gradients cross between nodes.

    Each attention and each feed-forward block holds 1/t of its heads or of its hidden units
    (t = ``ways``), so 1/t of its weights and FLOPs. Its output is all-reduced in the forward pass
    (g), the gradient of its input in the backward pass (f): 2 + 2 collectives a layer of
    :math:`\text{batch} \times \text{tokens} \times \text{width}` 16-bit values on ``nvlink``,
    which hold up what comes next. The embedding is split by its vocabulary: one more all-reduce
    after it, one before it is used again as the head, and one of a 32-bit number per token for
    the loss.

    Norms, biases after an all-reduce and positions are on every GPU. The gradients of one block lie
    together and are one tensor, all-reduced over ``network`` in 16 bit; that of the embedding,
    which is also the head, is ready last. Adam passes over this GPU's part at the speed of its
    memory. Nothing is computed twice: activations are kept.

    Parameters
    ----------
    name
        Name of the graph.
    gpt
        Dimensions.
    ways
        GPUs that share each layer.
    batch
        Samples per iteration of one node's group of ``ways`` GPUs.
    flops_per_us
        Sustained speed of one GPU [FLOP/us].

    Raises
    ------
    InvalidGraph
        A number that is not positive; heads that do not divide the width; ``ways`` that does not
        divide heads or vocabulary.

    References
    ----------
    .. [1] M. Shoeybi et al., Megatron-LM: Training Multi-Billion Parameter Language Models Using
           Model Parallelism, 2019, Section 3.
    .. [2] D. Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using
           Megatron-LM, SC 2021, Appendix (FLOPs).
    """
    _check(gpt, ways, batch, flops_per_us)
    d, rows, speed = gpt.width, batch * gpt.tokens, ways * flops_per_us
    activations = 2 * rows * d

    def layer(layer: str, flops: float, parameters: int) -> Layer:
        gradients = ((layer, 2 * parameters),)
        return Layer(layer, flops / speed, 2 * flops / speed, gradients)

    positions = gpt.tokens * d
    steps: list[Layer | ActivationExchange] = [
        layer("embed", float(rows * d), gpt.vocabulary * d // ways + positions),
        ActivationExchange("embed.output", activations, ALL_REDUCE, None),
    ]
    shared = 3 * d  # a norm's weight and bias, and the bias of the output
    attention = (8.0 * rows * d**2 + 4.0 * rows * gpt.tokens * d, 4 * d**2 + 3 * d)
    feed_forward = (16.0 * rows * d**2, 8 * d**2 + 4 * d)
    for i in range(gpt.depth):
        for part, (flops, split) in (("attention", attention), ("ffn", feed_forward)):
            block = f"layers.{i}.{part}"
            steps += [
                ActivationExchange(f"{block}.input", activations, None, ALL_REDUCE),
                layer(block, flops, split // ways + shared),
                ActivationExchange(f"{block}.output", activations, ALL_REDUCE, None),
            ]
    steps += [
        ActivationExchange("head.input", activations, None, ALL_REDUCE),
        layer("head", 2.0 * rows * d * gpt.vocabulary, 2 * d),  # the last norm
        ActivationExchange("loss", 4 * rows, ALL_REDUCE, None),
    ]
    held = sum(size for s in steps if isinstance(s, Layer) for _, size in s.gradients) / 2
    return model_parallel(name, steps, adam_us(held, MEMORY))


def _check(gpt: Gpt, ways: int, batch: int, flops_per_us: float) -> None:
    faults = not_positive(
        depth=gpt.depth,
        width=gpt.width,
        heads=gpt.heads,
        vocabulary=gpt.vocabulary,
        tokens=gpt.tokens,
        ways=ways,
        batch=batch,
        flops_per_us=flops_per_us,
    )
    faults += [
        Fault(f"/{field}", FaultCode.OUT_OF_RANGE, f"{field} must be a multiple of {by} {divisor}.")
        for field, value, by, divisor in (
            ("width", gpt.width, gpt.heads, "heads"),
            ("heads", gpt.heads, ways, "ways"),
            ("vocabulary", gpt.vocabulary, ways, "ways"),
        )
        if by > 0 and value % by
    ]
    if faults:
        raise InvalidGraph(faults)


def tp_gpt_8b() -> Graph:
    """Megatron-LM's GPT of 8.3 billion parameters, 8-way tensor parallel, batch 8.

    291 all-reduces on ``nvlink``, 146 on ``network``. See :func:`tensor_parallel_gpt`.

    References
    ----------
    .. [1] M. Shoeybi et al., Megatron-LM, 2019, Table 1 and Section 5.1.
    """
    gpt, ways = MEGATRON["8.3"]
    return tensor_parallel_gpt("Megatron-LM 8.3B, tensor parallel (generated)", gpt, ways)
