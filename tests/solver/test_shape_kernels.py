"""Shapes whose multiplications reach what kernels of their size were measured to reach."""

import json
from dataclasses import replace
from itertools import product
from math import sqrt

import pytest

from solver.errors import InvalidMeasurements
from solver.shapes.efficiency import ASSUMED
from solver.shapes.hardware import (
    ACCELERATORS,
    NetworkLevel,
    TrainingCluster,
    faults_of_cluster,
)
from solver.shapes.job_shape import BY_HEADS, JobShape, faults_of_shape
from solver.shapes.kernels import (
    ATTENTIONS,
    INPUT_GRADIENTS,
    MATMULS,
    OUTPUTS,
    MeasuredAttention,
    MeasuredKernels,
    MeasuredMatmul,
    attention_share,
    matmul_share,
)
from solver.shapes.layer_times import layer_times
from solver.shapes.multiplications import head_times, multiplication_times
from solver.shapes.published import PUBLISHED
from solver.shapes.simumax import kernels_of
from solver.shapes.step import simulate_step
from tests.benchmarks.shapes import B200, B200_SYSTEM, b200_steps

GPU = ACCELERATORS["b200"]


def kernels(share: float, **others: float) -> MeasuredKernels:
    """Return kernels of three sizes that all reach a share, or others by what they compute."""
    sizes = (256, 4096, 65536)
    return MeasuredKernels(
        tuple(
            MeasuredMatmul(computes, tokens, width, width, others.get(computes, share))
            for computes, tokens, width in product(MATMULS, sizes, sizes)
        ),
        tuple(MeasuredAttention(computes, 4096, 64, 8, share) for computes in ATTENTIONS),
    )


def test_a_measured_size_has_its_own_share_and_one_between_a_mean() -> None:
    measured = MeasuredKernels(
        tuple(
            MeasuredMatmul(computes, tokens, 1024, 1024, share)
            for computes in MATMULS
            for tokens, share in ((1024, 0.2), (1024, 0.8), (4096, 0.6))
        )
    )
    assert matmul_share(measured, OUTPUTS, 1024, 1024, 1024) == pytest.approx(0.4)
    assert matmul_share(measured, OUTPUTS, 4096, 1024, 1024) == pytest.approx(0.6)
    between = matmul_share(measured, OUTPUTS, 2048, 1024, 1024)
    assert between == pytest.approx(sqrt(0.4 * 0.6))


def test_three_kinds_of_multiplication_have_shares_of_their_own() -> None:
    measured = kernels(0.5, input_gradients=0.25)
    assert matmul_share(measured, INPUT_GRADIENTS, 9000, 900, 70000) == pytest.approx(0.25)
    assert matmul_share(measured, OUTPUTS, 9000, 900, 70000) == pytest.approx(0.5)
    assert attention_share(measured, OUTPUTS, 8192, 32, 8) == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["llama3-70b", "deepseek-v3"])
def test_kernels_of_one_share_are_as_that_share_of_all(name: str) -> None:
    model, shape = PUBLISHED[name], JobShape(tp=2, ep=4 if "deepseek" in name else 1, dp=4)
    measured = multiplication_times(model, replace(GPU, kernels=kernels(0.7)), shape, ASSUMED, 4096)
    alike = multiplication_times(model, GPU, shape, replace(ASSUMED, matmul=0.7), 4096)
    assert measured.outputs_us == pytest.approx(alike.outputs_us)
    assert measured.inputs_us == pytest.approx(alike.inputs_us)
    assert measured.weights_us == pytest.approx(alike.weights_us)
    assert measured.attend_us == pytest.approx(alike.attend_us)
    assert measured.attend_back_us == pytest.approx(1.25 * alike.attend_back_us)
    head = head_times(model, replace(GPU, kernels=kernels(0.7)), shape, ASSUMED, 4096)
    assert head == pytest.approx(head_times(model, GPU, shape, replace(ASSUMED, matmul=0.7), 4096))


def test_kernels_of_another_precision_are_not_taken() -> None:
    shape = JobShape(precision="fp8")
    with_kernels = multiplication_times(
        PUBLISHED["llama3-8b"], replace(GPU, kernels=kernels(0.7)), shape, ASSUMED, 4096
    )
    assert with_kernels == multiplication_times(PUBLISHED["llama3-8b"], GPU, shape, ASSUMED, 4096)


def test_what_is_wrong_with_kernels_is_said_with_its_place() -> None:
    wrong = MeasuredKernels(
        (
            MeasuredMatmul(OUTPUTS, 0, 8, 8, 0.5),
            MeasuredMatmul(INPUT_GRADIENTS, 8, 8, 8, 1.5),
        ),
        precision="int4",
    )
    cluster = TrainingCluster(replace(GPU, kernels=wrong), (NetworkLevel("node", 8, 5000.0),))
    assert {fault.pointer for fault in faults_of_cluster(cluster)} == {
        "/accelerator/kernels/precision",
        "/accelerator/kernels/matmuls",
        "/accelerator/kernels/matmuls/0",
        "/accelerator/kernels/matmuls/1/share",
    }


def system(**kinds: dict[str, float]) -> dict[str, object]:
    """Return a system file with kernels of these kinds."""
    op = {kind: {"accurate_efficient_factor": shares} for kind, shares in kinds.items()}
    return {"accelerator": {"op": op}}


def test_layouts_and_stages_of_a_system_file() -> None:
    found = kernels_of(
        system(
            matmul={
                "b=1, m=4096, k=8192, n=10240, layout=TN, accumulate=False": 0.6,
                "b=1, m=4096, k=10240, n=8192, layout=NN, accumulate=False": 0.5,
                "b=1, m=10240, k=4096, n=8192, layout=NT, accumulate=True": 0.4,
            },
            group_matmul={"ng=32, M=1024, N=4096, K=7168, dtype=bf16, stage=bwd_grad_w": 0.3},
            sdp_fwd={
                "batch=2, seq_len=4096, head_num=16, kv_head_num=4, qk_head_dim=192, v_head_dim=128": 0.8  # noqa: E501
            },
        )
    )
    assert found.matmuls == (
        MeasuredMatmul("outputs", 4096, 8192, 10240, 0.6),
        MeasuredMatmul("input_gradients", 4096, 8192, 10240, 0.5),
        MeasuredMatmul("weight_gradients", 4096, 8192, 10240, 0.4),
        MeasuredMatmul("weight_gradients", 1024, 7168, 4096, 0.3, groups=32),
    )
    assert found.attention == (MeasuredAttention("outputs", 4096, 32, 8, 0.8 * 128 / 320),)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (system(matmul={"b=1, m=4096, k=8, n=8, layout=NX": 0.5}), "layout"),
        (system(matmul={"b=1, m=4096, k=8, layout=TN": 0.5}), "not understood"),
        (system(), "no size is measured"),
        ({"accelerator": {"op": []}}, "no size is measured"),
    ],
)
def test_a_system_file_that_is_not_understood_is_refused(
    given: dict[str, object], part: str
) -> None:
    with pytest.raises(InvalidMeasurements) as refused:
        kernels_of(given)
    assert part in refused.value.faults[0].detail


def test_attention_by_heads_exchanges_queries_keys_values_and_outputs() -> None:
    model, level = PUBLISHED["llama3-70b"], NetworkLevel("node", 8, 8000.0)  # 1 MB a us
    cluster = TrainingCluster(GPU, (level,))
    by_heads = layer_times(model, cluster, JobShape(tp=2, cp=4, context=BY_HEADS), ASSUMED)
    tokens, query, key = 8192 // 4, 64 * 128 // 2, 8 * 128 // 2
    into, out = 2 * tokens * (query + 2 * key), 2 * tokens * query
    once = 2 * ASSUMED.launch_us + (into + out) * 3 / 4 / 1e6
    assert by_heads.context_us == pytest.approx(2 * once)


def test_attention_by_heads_needs_heads_for_its_ranks() -> None:
    shape = JobShape(tp=2, cp=8, context=BY_HEADS)
    (fault,) = faults_of_shape(shape, PUBLISHED["llama3-70b"])
    assert fault.pointer == "/cp"
    assert "kv_heads, 8" in fault.detail
    assert not list(faults_of_shape(replace(shape, context="ring"), PUBLISHED["llama3-70b"]))


@pytest.mark.skipif(not B200.exists(), reason="the published steps are not here")
def test_published_steps_are_simulated_from_their_machines_kernels_alone() -> None:
    errors = [
        abs(simulate_step(row.model, row.cluster, row.shape, ASSUMED).time_us / row.time_us - 1)
        for row, _ in b200_steps(B200, B200_SYSTEM)
    ]
    assert max(errors) <= 0.11
    assert json.loads(B200_SYSTEM.read_text("utf-8"))["accelerator"]["op"]["sdp_bwd"]
