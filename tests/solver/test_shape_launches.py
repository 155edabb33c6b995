"""Arguments of training programs: that they say the shape, and say what they do not."""

import json
from dataclasses import replace

from solver.shapes.job_shape import JobShape
from solver.shapes.launch import deepspeed, megatron, torchtitan
from solver.shapes.published import PUBLISHED

MODEL = PUBLISHED["llama3-70b"]


def said(model, shape, program=megatron) -> dict[str, str]:
    """Return each flag with its value."""
    parts = [argument.partition(" ") for argument in program(model, shape).arguments]
    found = {flag: value for flag, _, value in parts}
    assert len(found) == len(parts)
    return found


def test_degrees_and_batch_give_the_shape_back() -> None:
    shape = JobShape(
        tp=8, pp=4, dp=16, cp=2, micro_batch=2, micro_batches=8, schedule="interleaved", vpp=5
    )
    shape = replace(shape, sequence_parallel=True, sharding="optimizer")
    flags = said(MODEL, shape)
    assert flags["--tensor-model-parallel-size"] == "8"
    assert flags["--pipeline-model-parallel-size"] == "4"
    assert flags["--context-parallel-size"] == "2"
    assert flags["--num-layers-per-virtual-pipeline-stage"] == "4"
    assert flags["--global-batch-size"] == str(shape.global_batch)
    assert {"--sequence-parallel", "--use-distributed-optimizer", "--bf16"} <= set(flags)
    assert "--cross-entropy-loss-fusion" in flags
    assert flags["--num-query-groups"] == "8"
    assert megatron(MODEL, shape).unsaid == ()


def test_experts_have_their_own_width() -> None:
    flags = said(PUBLISHED["mixtral-8x7b"], JobShape(dp=8, ep=8))
    assert flags["--num-experts"] == "8"
    assert flags["--moe-router-topk"] == "2"
    assert flags["--expert-model-parallel-size"] == "8"


def test_what_they_do_not_say_is_said() -> None:
    shape = JobShape(pp=3, dp=4, schedule="zero_bubble", sharding="parameters", shard=2)
    shape = replace(shape, context="all_gather", cp=2)
    unsaid = " ".join(megatron(PUBLISHED["deepseek-v3"], shape).unsaid)
    for part in (
        "zero_bubble",
        "uneven",
        "in a pipeline",
        "over 2",
        "gathered",
        "latent",
        "first 3",
    ):
        assert part in unsaid
    assert "ZeRO-2" in megatron(MODEL, JobShape(dp=2, sharding="gradients")).unsaid[0]


def test_torchtitan_has_groups_of_shards_and_one_call_a_pipeline() -> None:
    shape = JobShape(tp=8, pp=4, dp=16, micro_batch=2, micro_batches=8, sharding="parameters")
    shape = replace(shape, sequence_parallel=True, shard=4)
    flags = said(MODEL, shape, torchtitan)
    assert (flags["--model.name"], flags["--model.flavor"]) == ("llama3", "70B")
    degrees = [
        int(flags[f"--parallelism.{name}_degree"])
        for name in (
            "data_parallel_shard",
            "data_parallel_replicate",
            "tensor_parallel",
            "context_parallel",
            "pipeline_parallel",
        )
    ]
    assert degrees == [4, 4, 8, 1, 4]
    assert flags["--parallelism.pipeline_parallel_schedule"] == "1F1B"
    assert flags["--training.local_batch_size"] == "16"
    assert flags["--parallelism.pipeline_parallel_microbatch_size"] == "2"
    assert flags["--training.global_batch_size"] == str(shape.global_batch)
    assert torchtitan(MODEL, shape).unsaid == ()


def test_torchtitan_without_a_pipeline_accumulates() -> None:
    shape = JobShape(dp=8, cp=2, micro_batch=2, micro_batches=4, sharding="parameters")
    flags = said(MODEL, shape, torchtitan)
    assert flags["--training.local_batch_size"] == "2"
    assert flags["--training.global_batch_size"] == "64"
    assert flags["--parallelism.data_parallel_shard_degree"] == "8"
    assert flags["--parallelism.context_parallel_rotate_method"] == "alltoall"


def test_what_torchtitan_does_not_run_is_said() -> None:
    shape = JobShape(tp=2, pp=3, dp=4, schedule="zero_bubble", precision="fp8")
    unsaid = " ".join(torchtitan(PUBLISHED["mixtral-8x7b"], shape).unsaid)
    for part in ("flavor", "replicas beside", "without sequence", "zero_bubble", "uneven", "fp8"):
        assert part in unsaid
    assert "nothing" in torchtitan(MODEL, JobShape(dp=4, sharding="optimizer")).unsaid[0]


def test_deepspeed_has_a_file() -> None:
    shape = JobShape(tp=2, dp=4, micro_batch=2, micro_batches=8, sharding="gradients")
    found = deepspeed(MODEL, shape)
    assert found.config is not None
    config = json.loads(found.config)
    batch = config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"]
    assert config["train_batch_size"] == batch * shape.dp == shape.global_batch
    assert config["zero_optimization"] == {"stage": 2}
    assert config["tensor_parallel"] == {"autotp_size": 2}
    assert found.arguments[-1].endswith("ds_config.json")
    assert len(found.unsaid) == 1  # the model alone


def test_what_deepspeed_does_not_run_is_said() -> None:
    shape = JobShape(tp=2, pp=3, dp=4, cp=2, ep=2, schedule="gpipe", sharding="parameters")
    unsaid = " ".join(deepspeed(MODEL, replace(shape, sequence_parallel=True)).unsaid)
    for part in ("num_stages=3", "gpipe", "ZeRO-3", "ZeRO up to 2", "by heads", "ep_size=2"):
        assert part in unsaid
