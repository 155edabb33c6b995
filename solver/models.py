"""Published models as iterations: layer shapes from the papers, time split by FLOPs.

These are made by the project, not measured: each layer takes its FLOPs divided by the sustained
speed of the worker, the backward pass twice its forward. Shapes and parameter counts are those of
the published models.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from solver.errors import InvalidGraph
from solver.gpt import tp_gpt_8b
from solver.graph import Graph
from solver.layers import Layer, iteration, merged
from solver.parallel import adam_us, fsdp, not_positive

#: Sustained FLOP/us of a worker in 32-bit (7 TFLOP/s) and in 16-bit (150 TFLOP/s).
SINGLE, HALF = 7e6, 150e6
#: Memory bandwidth of an A100 of 80 GB [bytes/us].
MEMORY = 2.0e6


@dataclass(frozen=True, slots=True)
class _Step:
    """A layer before its time is known: FLOPs of one sample forward, and parameter counts."""

    name: str
    flops: float
    parameters: tuple[tuple[str, int], ...] = ()


def _layers(
    steps: list[_Step], batch: int, flops_per_us: float, bytes_per_parameter: int
) -> list[Layer]:
    return [
        Layer(
            step.name,
            step.flops * batch / flops_per_us,
            2 * step.flops * batch / flops_per_us,
            tuple(
                (f"{step.name}.{parameter}", count * bytes_per_parameter)
                for parameter, count in step.parameters
            ),
        )
        for step in steps
    ]


def _graph(
    name: str, steps: list[_Step], batch: int, flops_per_us: float, bytes_per_parameter: int
) -> Graph:
    return iteration(name, _layers(steps, batch, flops_per_us, bytes_per_parameter))


def _linear(name: str, inputs: int, outputs: int, tokens: int = 1, *, bias: bool = False) -> _Step:
    biases = (("bias", outputs),) if bias else ()
    return _Step(name, 2.0 * inputs * outputs * tokens, (("weight", inputs * outputs), *biases))


def _convolution(
    name: str, inputs: int, outputs: int, kernel: int, pixels: int, *, bias: bool = False
) -> _Step:
    weight = inputs * outputs * kernel**2
    biases = (("bias", outputs),) if bias else ()
    return _Step(name, 2.0 * weight * pixels, (("weight", weight), *biases))


def vgg16(batch: int = 64) -> Graph:
    """VGG-16 (configuration D) on 224 x 224 images: 138,357,544 parameters in 32 tensors, fp32.

    References
    ----------
    .. [1] K. Simonyan, A. Zisserman, Very Deep Convolutional Networks, ICLR 2015, Table 1.
    """
    steps: list[_Step] = []
    inputs, side = 3, 224
    for block, (count, outputs) in enumerate([(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)], 1):
        for i in range(1, count + 1):
            name = f"conv{block}_{i}"
            steps.append(_convolution(name, inputs, outputs, 3, side**2, bias=True))
            inputs = outputs
        side //= 2
    for name, size, outputs in (
        ("fc6", inputs * side**2, 4096),
        ("fc7", 4096, 4096),
        ("fc8", 4096, 1000),
    ):
        steps.append(_linear(name, size, outputs, bias=True))
    return _graph("VGG-16 (generated)", steps, batch, SINGLE, 4)


def resnet50(batch: int = 64) -> Graph:
    """ResNet-50 on 224 x 224 images: 25,557,032 parameters in 161 tensors, fp32.

    Each block halves the image in its 3 x 3 convolution.

    References
    ----------
    .. [1] K. He et al., Deep Residual Learning for Image Recognition, CVPR 2016, Table 1.
    """
    steps = list(_resnet_steps())
    return _graph("ResNet-50 (generated)", steps, batch, SINGLE, 4)


def _resnet_steps() -> Iterator[_Step]:
    yield from _normalised("conv1", 3, 64, 7, 112**2)
    inputs, side = 64, 56
    for stage, (count, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)], 1):
        for block in range(count):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            yield from _normalised(f"{name}.conv1", inputs, width, 1, side**2)
            side //= stride
            yield from _normalised(f"{name}.conv2", width, width, 3, side**2)
            yield from _normalised(f"{name}.conv3", width, 4 * width, 1, side**2)
            if block == 0:
                yield from _normalised(f"{name}.downsample", inputs, 4 * width, 1, side**2)
            inputs = 4 * width
    yield _linear("fc", inputs, 1000, bias=True)


def _normalised(name: str, inputs: int, outputs: int, kernel: int, pixels: int) -> Iterator[_Step]:
    """Convolution without bias, then batch normalisation."""
    yield _convolution(name, inputs, outputs, kernel, pixels)
    yield _Step(f"{name}.bn", 4.0 * outputs * pixels, (("weight", outputs), ("bias", outputs)))


def t5_small(batch: int = 16, tokens: int = 512) -> Graph:
    """T5-small, an encoder-decoder Transformer: 60,506,624 parameters in 131 tensors, fp32.

    References
    ----------
    .. [1] C. Raffel et al., Exploring the Limits of Transfer Learning, JMLR 2020, Section 3.
    """
    d, hidden, vocabulary, depth, heads, distances = 512, 2048, 32128, 6, 8, 32
    steps = [_Step("shared", float(d * tokens), (("weight", vocabulary * d),))]
    for side in ("encoder", "decoder"):
        for i in range(depth):
            attentions = ("self",) if side == "encoder" else ("self", "cross")
            for attention in attentions:
                name = f"{side}.{i}.{attention}"
                relative = (("distances", distances * heads),) if i == 0 else ()
                extra = relative if attention == "self" else ()
                steps += _attention(name, d, tokens, extra)
            steps.append(_norm(f"{side}.{i}.ffn.norm", d, tokens))
            steps.append(_linear(f"{side}.{i}.ffn.wi", d, hidden, tokens))
            steps.append(_linear(f"{side}.{i}.ffn.wo", hidden, d, tokens))
        steps.append(_norm(f"{side}.norm", d, tokens))
    steps.append(_Step("head", 2.0 * d * vocabulary * tokens))  # shares the embedding's weight
    return _graph("T5-small (generated)", steps, batch, SINGLE, 4)


def llama_7b(batch: int = 1, tokens: int = 2048) -> Graph:
    """LLaMA-7B, a 32-layer language model: 6,738,415,616 parameters in 291 tensors, 16 bit.

    References
    ----------
    .. [1] H. Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023, Table 2.
    """
    steps = [step for _, unit in _llama_units(tokens) for step in unit]
    return _graph("LLaMA-7B (generated)", steps, batch, HALF, 2)


def _llama_units(tokens: int) -> Iterator[tuple[str, list[_Step]]]:
    """Embedding, attention and feed-forward block of each layer, and the head, by name."""
    d, hidden, vocabulary, depth = 4096, 11008, 32000, 32
    yield "embed", [_Step("embed", float(d * tokens), (("weight", vocabulary * d),))]
    for i in range(depth):
        yield f"layers.{i}.attention", _attention(f"layers.{i}.attention", d, tokens)
        yield (
            f"layers.{i}.ffn",
            [
                _norm(f"layers.{i}.ffn.norm", d, tokens),
                _linear(f"layers.{i}.ffn.gate", d, hidden, tokens),
                _linear(f"layers.{i}.ffn.up", d, hidden, tokens),
                _linear(f"layers.{i}.ffn.down", hidden, d, tokens),
            ],
        )
    yield "head", [_norm("norm", d, tokens), _linear("head", d, vocabulary, tokens)]


def fsdp_llama_7b(
    batch: int = 1,
    tokens: int = 2048,
    shards: int = 8,
    limit: int = 2,
    flops_per_us: float = HALF,
    bytes_per_parameter: int = 2,
) -> Graph:
    """LLaMA-7B under hybrid FSDP: 263 collectives of 66 units, 16 bit, Adam on the shards.

    The embedding, each attention and feed-forward block with its norm, and the head with the last
    norm are units of their own. Parameters are sharded over ``shards`` GPUs of a node (channel
    ``nvlink``), gradients are all-reduced between nodes (channel ``network``); both travel at
    ``bytes_per_parameter``. Adam passes over this GPU's shard at the speed of its memory. Nothing
    is computed twice: activations are kept. See :func:`solver.parallel.fsdp`.

    Raises
    ------
    InvalidGraph
        An argument that is not positive.

    References
    ----------
    .. [1] H. Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023, Table 2.
    """
    faults = not_positive(
        batch=batch,
        tokens=tokens,
        shards=shards,
        limit=limit,
        flops_per_us=flops_per_us,
        bytes_per_parameter=bytes_per_parameter,
    )
    if faults:
        raise InvalidGraph(faults)
    units = [
        merged(name, _layers(steps, batch, flops_per_us, bytes_per_parameter))
        for name, steps in _llama_units(tokens)
    ]
    parameters = sum(size for unit in units for _, size in unit.gradients) / bytes_per_parameter
    step_us = adam_us(parameters / shards, MEMORY)
    return fsdp("LLaMA-7B under FSDP (generated)", units, shards, limit, step_us)


def _norm(name: str, d: int, tokens: int) -> _Step:
    return _Step(name, 4.0 * d * tokens, (("weight", d),))


def _attention(
    name: str, d: int, tokens: int, extra: tuple[tuple[str, int], ...] = ()
) -> list[_Step]:
    """Norm, projections, scores and output; ``extra`` parameters belong to the scores."""
    return [
        _norm(f"{name}.norm", d, tokens),
        *(_linear(f"{name}.{part}", d, d, tokens) for part in ("q", "k", "v")),
        _Step(f"{name}.scores", 4.0 * tokens**2 * d, extra),
        _linear(f"{name}.o", d, d, tokens),
    ]


#: The generated iterations by name, with their default batch; add one here.
MODELS: dict[str, Callable[[], Graph]] = {
    "vgg16": vgg16,
    "resnet50": resnet50,
    "t5_small": t5_small,
    "llama_7b": llama_7b,
    "fsdp_llama_7b": fsdp_llama_7b,
    "tp_gpt_8b": tp_gpt_8b,
}
