"""A shape as arguments of a training program, to copy."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from solver.shapes.job_shape import JobShape
from solver.shapes.pipeline.orders import INTERLEAVED, ONE_F_ONE_B
from solver.shapes.transformer import Transformer

MEGATRON: Final = "megatron"


@dataclass(frozen=True, slots=True)
class LaunchArguments:
    """Arguments of a training program.

    Attributes
    ----------
    program
        Key of :data:`PROGRAMS`.
    arguments
        What to put on its command line, in order, each flag with its value.
    unsaid
        What of the shape or the model these arguments do not say, or the program does not run.
    """

    program: str
    arguments: tuple[str, ...]
    unsaid: tuple[str, ...]


def megatron(model: Transformer, shape: JobShape) -> LaunchArguments:
    """Return the arguments of Megatron-LM for a model's size and a shape.

    Data, tokenizer, learning rate and the layers' kind (norms, positions) are the reader's own.

    References
    ----------
    .. [1] NVIDIA, Megatron-LM, ``megatron/training/arguments.py``.
    """
    return LaunchArguments(
        MEGATRON,
        (*_of_model(model), *_of_shape(model, shape), *_of_run(shape)),
        tuple(_unsaid(model, shape)),
    )


def _of_model(model: Transformer) -> Iterator[str]:
    yield f"--num-layers {model.layers}"
    yield f"--hidden-size {model.hidden}"
    yield f"--num-attention-heads {model.heads}"
    if model.kv_heads is not None and model.kv_heads < model.heads:
        yield "--group-query-attention"
        yield f"--num-query-groups {model.kv_heads}"
    if model.head_size is not None:
        yield f"--kv-channels {model.head_size}"
    yield f"--ffn-hidden-size {model.dense_feed_forward or model.feed_forward}"
    if model.gated:
        yield "--swiglu"
    if model.experts:
        yield f"--num-experts {model.experts}"
        yield f"--moe-router-topk {model.top_k}"
        yield f"--moe-ffn-hidden-size {model.feed_forward}"
    if model.shared_feed_forward:
        yield f"--moe-shared-expert-intermediate-size {model.shared_feed_forward}"
    yield f"--seq-length {model.sequence}"
    yield f"--max-position-embeddings {model.sequence}"
    if not model.tied:
        yield "--untie-embeddings-and-output-weights"


def _of_shape(model: Transformer, shape: JobShape) -> Iterator[str]:
    yield f"--tensor-model-parallel-size {shape.tp}"
    yield f"--pipeline-model-parallel-size {shape.pp}"
    if shape.schedule == INTERLEAVED and shape.vpp > 1:
        yield f"--num-layers-per-virtual-pipeline-stage {model.layers // (shape.pp * shape.vpp)}"
    if shape.cp > 1:
        yield f"--context-parallel-size {shape.cp}"
        if shape.context == "ring":
            yield "--cp-comm-type p2p"
    if shape.ep > 1:
        yield f"--expert-model-parallel-size {shape.ep}"
    yield f"--micro-batch-size {shape.micro_batch}"
    yield f"--global-batch-size {shape.global_batch}"
    if shape.sequence_parallel:
        yield "--sequence-parallel"
    if shape.sharding == "optimizer":
        yield "--use-distributed-optimizer"
    if shape.sharding == "parameters":
        yield "--use-torch-fsdp2"
        yield "--no-gradient-accumulation-fusion"
        yield "--ckpt-format torch_dist"
    if shape.overlapped_buckets > 1 and shape.sharding != "parameters":
        yield "--overlap-grad-reduce"


def _of_run(shape: JobShape) -> Iterator[str]:
    """Yield how the passes of a shape are computed."""
    if shape.recomputation != "none":
        yield f"--recompute-granularity {shape.recomputation}"
    if shape.recomputation == "full":
        yield "--recompute-method uniform"
        yield "--recompute-num-layers 1"
    yield "--bf16"
    if shape.precision == "fp8":
        yield "--fp8-format hybrid"
    if shape.gradient_bytes == 2:  # noqa: PLR2004 - 16 bit
        yield "--grad-reduce-in-bf16"
    if shape.flash_attention:
        yield "--use-flash-attn"


def _unsaid(model: Transformer, shape: JobShape) -> Iterator[str]:
    if shape.pp > 1 and shape.schedule not in (ONE_F_ONE_B, INTERLEAVED):
        yield f"schedule {shape.schedule}: Megatron-LM runs {ONE_F_ONE_B} and {INTERLEAVED}"
    if model.layers % (shape.pp * shape.vpp) or shape.layers_of_stages is not None:
        yield "layers of each stage, which are uneven"
    if shape.cp > 1 and shape.context != "ring":
        yield "that keys and values are gathered before attention"
    if model.dense_layers:
        yield f"that the first {model.dense_layers} layers have no experts: --moe-layer-freq"
    if model.attention_parameters is not None:
        yield "the ranks of latent attention"
    if shape.precision not in ("bf16", "fp8"):
        yield f"precision {shape.precision}"
    yield from _unsaid_of_sharding(model, shape)


def _unsaid_of_sharding(model: Transformer, shape: JobShape) -> Iterator[str]:
    if shape.sharding == "parameters" and shape.pp > 1:
        yield "sharded parameters in a pipeline: use another sharding"
    if shape.sharding == "parameters" and (model.tied or shape.ep > 1):
        yield "sharded parameters with tied embeddings or expert parallelism: check that it runs"
    if shape.sharding == "gradients":
        yield "sharded gradients (ZeRO-2)"
    if shape.shard is not None:
        yield f"sharding over {shape.shard} ranks rather than all"


#: Training programs by name: what gives their arguments.
PROGRAMS: Final[dict[str, Callable[[Transformer, JobShape], LaunchArguments]]] = {
    MEGATRON: megatron
}
