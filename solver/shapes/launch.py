"""A shape as arguments of a training program, to copy."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from solver.shapes.job_shape import BY_HEADS, SHARDINGS, JobShape
from solver.shapes.pipeline.orders import GPIPE, INTERLEAVED, ONE_F_ONE_B, ZB_V
from solver.shapes.transformer import Transformer

MEGATRON: Final = "megatron"
TORCHTITAN: Final = "torchtitan"
DEEPSPEED: Final = "deepspeed"


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
    config
        Text of the file that they name; None when they name none.
    """

    program: str
    arguments: tuple[str, ...]
    unsaid: tuple[str, ...]
    config: str | None = None


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
        if shape.context in _MEGATRON_CONTEXTS:
            yield f"--cp-comm-type {_MEGATRON_CONTEXTS[shape.context]}"
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
    yield "--cross-entropy-loss-fusion"  # as memory is counted
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
    if shape.cp > 1 and shape.context not in _MEGATRON_CONTEXTS:
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


#: How Megatron-LM calls :data:`~solver.shapes.job_shape.CONTEXTS`; the name of the gather differs
#: between its help and the library that takes it.
_MEGATRON_CONTEXTS: Final = {"ring": "p2p", BY_HEADS: "a2a"}

#: Models that torchtitan has, by their names here: its name and flavor.
_TITAN_MODELS: Final = {
    "llama3-8b": ("llama3", "8B"),
    "llama3-70b": ("llama3", "70B"),
    "llama3-405b": ("llama3", "405B"),
    "deepseek-v3": ("deepseek_v3", "671B"),
}

_TITAN_SCHEDULES: Final = {
    GPIPE: "GPipe",
    ONE_F_ONE_B: "1F1B",
    INTERLEAVED: "Interleaved1F1B",
    ZB_V: "ZBVZeroBubble",
}

#: Chunks of a rank that torchtitan makes by itself of a schedule with several.
_TITAN_CHUNKS = 2


def torchtitan(model: Transformer, shape: JobShape) -> LaunchArguments:
    """Return the arguments of torchtitan for a shape, and the flavor of a model that it has.

    References
    ----------
    .. [1] PyTorch, torchtitan, ``torchtitan/config/job_config.py``.
    """
    return LaunchArguments(
        TORCHTITAN, tuple(_titan(model, shape)), tuple(_titan_unsaid(model, shape))
    )


def _titan(model: Transformer, shape: JobShape) -> Iterator[str]:
    if model.name in _TITAN_MODELS:
        name, flavor = _TITAN_MODELS[model.name]
        yield f"--model.name {name}"
        yield f"--model.flavor {flavor}"
    yield f"--training.seq_len {model.sequence}"
    whole = shape.micro_batches if shape.pp > 1 else 1  # a pipeline takes all in one call
    yield f"--training.local_batch_size {shape.micro_batch * whole}"
    yield f"--training.global_batch_size {shape.global_batch}"
    yield "--training.mixed_precision_param bfloat16"
    reduced = "bfloat16" if shape.gradient_bytes == 2 else "float32"  # noqa: PLR2004 - 16 bit
    yield f"--training.mixed_precision_reduce {reduced}"
    shards = _titan_shards(shape)
    yield f"--parallelism.data_parallel_shard_degree {shards}"
    yield f"--parallelism.data_parallel_replicate_degree {shape.dp // shards}"
    if shape.sharding != "none":
        frees = shape.sharding == "parameters" and shape.reshard
        kept = "always" if frees else "never"
        yield f"--parallelism.fsdp_reshard_after_forward {kept}"
    yield f"--parallelism.tensor_parallel_degree {shape.tp}"
    yield f"--parallelism.context_parallel_degree {shape.cp}"
    if shape.cp > 1 and shape.context != BY_HEADS:
        rotated = "alltoall" if shape.context == "ring" else "allgather"
        yield f"--parallelism.context_parallel_rotate_method {rotated}"
    yield f"--parallelism.expert_parallel_degree {shape.ep}"
    yield f"--parallelism.pipeline_parallel_degree {shape.pp}"
    if shape.pp > 1:
        yield f"--parallelism.pipeline_parallel_microbatch_size {shape.micro_batch}"
        if shape.schedule in _TITAN_SCHEDULES:
            schedule = _TITAN_SCHEDULES[shape.schedule]
            yield f"--parallelism.pipeline_parallel_schedule {schedule}"
    yield f"--activation_checkpoint.mode {shape.recomputation}"


def _titan_shards(shape: JobShape) -> int:
    """Data-parallel ranks that share out; those of context parallelism do besides."""
    return 1 if shape.sharding == "none" else max(1, shape.sharing // shape.cp)


def _titan_unsaid(model: Transformer, shape: JobShape) -> Iterator[str]:
    if shape.cp > 1 and shape.context == BY_HEADS:
        yield f"context parallelism by heads over {shape.cp} ranks: torchtitan has no such"
    if model.name not in _TITAN_MODELS:
        yield f"the size of {model.name}: torchtitan takes it from a flavor in its code"
    if shape.sharding in ("optimizer", "gradients"):
        yield f"sharding of the {shape.sharding} alone: torchtitan shards parameters, or nothing"
    if shape.sharding != "none" and _titan_shards(shape) * shape.cp != shape.sharing:
        yield f"sharding over {shape.sharing} ranks: it goes over all {shape.cp} context ranks"
    if shape.sharding == "none" and shape.dp > 1 and max(shape.tp, shape.pp, shape.cp) > 1:
        yield "replicas beside other parallelism: torchtitan replicates alone, or sharded groups"
    yield from _titan_unsaid_of_passes(model, shape)


def _titan_unsaid_of_passes(model: Transformer, shape: JobShape) -> Iterator[str]:
    if shape.tp > 1 and not shape.sequence_parallel:
        yield "tensor parallelism without sequence parallelism: torchtitan runs both"
    if shape.pp > 1 and shape.schedule not in _TITAN_SCHEDULES:
        yield f"schedule {shape.schedule}: torchtitan runs {', '.join(_TITAN_SCHEDULES)} of these"
    if shape.vpp not in (1, _TITAN_CHUNKS):
        yield f"{shape.vpp} chunks a rank: torchtitan makes {_TITAN_CHUNKS}"
    if model.layers % (shape.pp * shape.vpp) or shape.layers_of_stages is not None:
        yield "layers of each stage, which are uneven"
    if shape.recomputation == "selective":
        yield "that attention's scores alone are computed again: torchtitan chooses by layer or op"
    if shape.precision != "bf16":
        yield f"precision {shape.precision}: it needs a converter of the model"


def deepspeed(model: Transformer, shape: JobShape) -> LaunchArguments:
    """Return a configuration of DeepSpeed for a shape; the model is code of the reader's own.

    References
    ----------
    .. [1] Microsoft, DeepSpeed Configuration JSON; Automatic Tensor Parallelism (Training).
    """
    config: dict[str, Any] = {
        "train_batch_size": shape.global_batch,
        "train_micro_batch_size_per_gpu": shape.micro_batch,
        "gradient_accumulation_steps": shape.micro_batches,
        "zero_optimization": {"stage": SHARDINGS.index(shape.sharding)},
        "bf16": {"enabled": True},
        "communication_data_type": "fp32" if shape.gradient_bytes > 2 else "bf16",  # noqa: PLR2004
    }
    if shape.tp > 1:
        config["tensor_parallel"] = {"autotp_size": shape.tp}
    return LaunchArguments(
        DEEPSPEED,
        ("--deepspeed", "--deepspeed_config ds_config.json"),
        tuple(_deepspeed_unsaid(model, shape)),
        json.dumps(config, indent=2),
    )


def _deepspeed_unsaid(model: Transformer, shape: JobShape) -> Iterator[str]:
    yield f"the model's size and its sequence, {model.sequence:,}: they are in your code"
    if shape.pp > 1:
        yield from _deepspeed_unsaid_of_pipeline(model, shape)
    if shape.tp > 1 and shape.sharding == "parameters":
        yield "tensor parallelism with sharded parameters: DeepSpeed takes ZeRO up to 2 with it"
    if shape.sequence_parallel:
        yield "sequence parallelism beside tensor parallelism: DeepSpeed splits weights alone"
    if shape.cp > 1 and shape.context == BY_HEADS:
        yield f"attention by heads over {shape.cp} ranks: your code calls DistributedAttention"
    elif shape.cp > 1:
        yield f"context parallelism over {shape.cp} ranks: DeepSpeed has another kind, by heads"
    if shape.ep > 1:
        yield f"{shape.ep} expert ranks: they are in your code, MoE(ep_size={shape.ep})"
    if shape.recomputation != "none":
        yield f"recomputation {shape.recomputation}: your code calls the checkpointing"
    if shape.precision != "bf16":
        yield f"precision {shape.precision}"
    if shape.shard is not None:
        yield f"sharding over {shape.shard} ranks rather than all"


def _deepspeed_unsaid_of_pipeline(model: Transformer, shape: JobShape) -> Iterator[str]:
    yield f"{shape.pp} stages: they are in your code, PipelineModule(num_stages={shape.pp})"
    if shape.schedule != ONE_F_ONE_B:
        yield f"schedule {shape.schedule}: DeepSpeed runs {ONE_F_ONE_B}"
    if shape.sharding in ("gradients", "parameters"):
        yield f"sharded {shape.sharding} in a pipeline: DeepSpeed refuses ZeRO-2 and ZeRO-3"
    if model.layers % shape.pp or shape.layers_of_stages is not None:
        yield "layers of each stage, which are uneven"


#: Training programs by name: what gives their arguments.
PROGRAMS: Final[dict[str, Callable[[Transformer, JobShape], LaunchArguments]]] = {
    MEGATRON: megatron,
    TORCHTITAN: torchtitan,
    DEEPSPEED: deepspeed,
}
