"""Arguments of training programs: that they say the shape, and say what they do not."""

from dataclasses import replace

from solver.shapes.job_shape import JobShape
from solver.shapes.launch import megatron
from solver.shapes.published import PUBLISHED

MODEL = PUBLISHED["llama3-70b"]


def said(model, shape) -> dict[str, str]:
    """Return each flag with its value."""
    parts = [argument.partition(" ") for argument in megatron(model, shape).arguments]
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
