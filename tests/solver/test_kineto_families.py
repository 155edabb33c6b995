"""Kernels that communicate without NCCL: a step of a few events for each family."""

import pytest

from solver.errors import InvalidTrace
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, COMPUTE, REDUCE_SCATTER
from solver.traces import Total, TraceChannel, TraceOptions, kineto
from solver.traces.kineto.communication_kernels import family_of, is_suspect
from solver.traces.unsized import UnsizedLaunches
from tests.kineto_events import GPU, MAIN, NCCL, STEP, kernel, note, op, sized, text


def read(events, **top):
    return kineto.read([text(events, **top)], TraceOptions("x"))


def around(name, dims=((64, 128),), kinds=("c10::BFloat16",)):
    return op(name, 10, 4) | {"args": {"Input Dims": list(dims), "Input type": list(kinds)}}


def step(name, *more):
    """Compute, a kernel of that name on the same stream, compute."""
    return [
        note(STEP, 0, 50),
        *kernel(1, 3, 5, 10),
        *kernel(2, 11, 12, 30, MAIN, GPU, name),
        *kernel(3, 31, 32, 40),
        *more,
    ]


TWO = ((512, 128), (64, 128))
HALF = ("c10::BFloat16", "c10::BFloat16")
SYMM = "void (anonymous namespace)::"


@pytest.mark.parametrize(
    ("name", "call", "kind", "size"),
    [
        # PyTorch's symmetric memory
        (f"{SYMM}multimem_all_reduce_kernel<c10::BFloat16, 16>(...)",
         around("symm_mem::multimem_all_reduce_"), ALL_REDUCE, 16384),
        (f"{SYMM}one_shot_all_reduce_kernel<float, 16, 8>(...)",
         around("symm_mem::one_shot_all_reduce"), ALL_REDUCE, 16384),
        (f"{SYMM}two_shot_all_reduce_kernel_inplace<float, 16>(...)",
         around("symm_mem::two_shot_all_reduce_"), ALL_REDUCE, 16384),
        (f"{SYMM}multimem_all_gather_kernel<16>(...)",
         around("symm_mem::multimem_all_gather_out", TWO, HALF), ALL_GATHER, 131072),
        (f"{SYMM}reduce_scatter_kernel<float>(...)",
         around("symm_mem::reduce_scatter_out", TWO, HALF), REDUCE_SCATTER, 131072),
        ("void c10d::nvshmem_extension::all_to_all_vdev_kernel(...)",
         around("symm_mem::all_to_all_vdev"), ALL_TO_ALL, 16384),
        # a kernel of any name that such an op launched
        ("void some_new_kernel(...)", around("symm_mem::one_shot_all_reduce"), ALL_REDUCE, 16384),
        # serving engines
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(...)",
         around("_C_custom_ar::all_reduce"), ALL_REDUCE, 16384),
        ("void sglang::cross_device_reduce_2stage<half, 4>(...)",
         around("sgl_kernel::all_reduce"), ALL_REDUCE, 16384),
        ("void quickreduce::allreduce_prototype_twoshot<half>(...)",
         around("_C_custom_ar::qr_all_reduce"), ALL_REDUCE, 16384),
        ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<...>",
         around("flashinfer::trtllm_allreduce_fusion"), ALL_REDUCE, 16384),
        ("void tensorrt_llm::kernels::twoShotAllReduceKernel<half, 8>(...)",
         around("trtllm::allreduce"), ALL_REDUCE, 16384),
        # DeepEP, inside the autograd function that Megatron-LM calls it from
        ("void deep_ep::intranode::dispatch<8, 768, 8192>(...)",
         around("FusedDispatch"), ALL_TO_ALL, 16384),
        ("void deep_ep::internode::combine<...>(...)", around("FusedCombine"), ALL_TO_ALL, 16384),
        ("void deep_ep::internode_ll::dispatch<true>(...)",
         around("FusedDispatch"), ALL_TO_ALL, 16384),
        # other libraries
        ("oneccl_allreduce_kernel", around("c10d::allreduce_"), ALL_REDUCE, 16384),
        ("ccl_allgather_small<half>", around("c10d::_allgather_base_", TWO, HALF), ALL_GATHER,
         131072),
        ("hcom_allReduce__868_1_1", around("c10d::allreduce_"), ALL_REDUCE, 16384),
        ("HcclAllReduce", around("c10d::allreduce_"), ALL_REDUCE, 16384),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
         around("c10d::allreduce_"), ALL_REDUCE, 16384),
    ],
)  # fmt: skip
def test_a_family_is_read(name, call, kind, size):
    trace = read(step(name, call))
    assert trace.report.collectives == {kind: Total(1, size)}
    assert trace.measured == ((f"{kind} 1", 18.0),)
    after = {o.id: o.after for o in trace.graph.ops}
    assert after["step 2"] == ("step 1 host", f"{kind} 1")
    assert sum(o.duration_us for o in trace.graph.ops if o.kind == COMPUTE) == 50 - 18
    assert trace.report.measured_us == trace.report.recorded_us == 50.0
    assert not any("stays compute" in line for line in trace.report.warnings)


TOKENS = ((4096, 7168), (4096, 8), (4096, 8), (), ())


@pytest.mark.parametrize(
    ("name", "dims", "types", "size"),
    [
        ("FusedDispatch", TOKENS, ("c10::BFloat16", "long int", "float", "Scalar", ""), 58_720_256),
        ("FusedCombineBackward", ((8192, 7168), (4096, 8)), HALF, 117_440_512),
    ],
)
def test_the_bytes_of_experts_are_those_of_the_tokens(name, dims, types, size):
    """As in Megatron-LM: the tokens, then indices and weights of their experts."""
    events = step("void deep_ep::intranode::dispatch<8, 768, 8192>()", around(name, dims, types))
    assert read(events).report.collectives == {ALL_TO_ALL: Total(1, size)}


def nccl():
    launched, ran = kernel(9, 33, 41, 45, MAIN, NCCL, "ncclDevKernel_AllReduce")
    ran["args"] |= sized(25)
    return [launched, ran]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("void deep_ep::intranode::notify_dispatch<8>(...)", ALL_TO_ALL),
        ("void deep_ep::internode_ll::combine<...>(...)", ALL_TO_ALL),
        ("multimem_all_reduce_kernel", ALL_REDUCE),
        ("void vllm::cross_device_reduce_1stage<half, 8>", ALL_REDUCE),
        ("hcom_broadcast__1", BROADCAST),
    ],
)
def test_a_family_without_sizes_is_communication_of_unknown_bytes(name, kind):
    """No op around tells a size: it holds the line for its 18 us, as it did."""
    trace = read(step(name, *nccl()))
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 100)}
    assert trace.report.unsized == (UnsizedLaunches(name, kind, 1, 18.0),)
    assert trace.report.measured_us == trace.report.recorded_us == 50.0
    assert trace.channels == (TraceChannel("network", None, "the stream: no group is written"),)
    with pytest.raises(InvalidTrace, match="1 of 1 collectives have no size") as caught:
        read(step(name))
    assert name in caught.value.faults[0].detail


@pytest.mark.parametrize(
    "name",
    [
        "my_fast_allreduce_v2",
        "nvshmemi_transfer_rma",
        "ucc_tl_mlx5_kernel",
        "Memcpy PtoP (Device -> Device)",
    ],
)
def test_what_is_not_understood_is_named_with_its_time(name):
    trace = read(step(name, *nccl()))
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 100)}
    (line,) = [line for line in trace.report.warnings if "stays compute" in line]
    assert line.startswith(f"1 launches of {name}, 18.000 us in the whole file")
    assert "looks like communication" in line
    with pytest.raises(InvalidTrace, match="No collective found") as caught:
        read(step(name))
    assert name in caught.value.faults[0].detail


@pytest.mark.parametrize(
    "name",
    [
        # reductions in a block or a warp, loops over elements, attention, sorting
        "void layernorm_blockAllReduce<float>(...)",
        "void softmax_warpAllReduce<float, 32>(...)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::BroadcastOp>(...)",
        "void at::native::reduce_kernel<512, 1>(...)",
        "void flash_fwd_splitkv_combine_kernel<...>(...)",
        "void cub::DeviceScanKernel<...>(...)",
        "Memcpy DtoD (Device -> Device)",
        "ampere_bf16_s16816gemm_bf16_128x128",
    ],
)
def test_compute_is_compute(name):
    trace = read(step(name, *nccl()))
    assert not any("stays compute" in line for line in trace.report.warnings)
    assert sum(o.duration_us for o in trace.graph.ops if o.kind == COMPUTE) == 50 - 4
    assert not is_suspect(name)
    assert family_of(name, "aten::add") is None


def test_what_such_an_op_does_to_elements_is_compute():
    """The copy that an op of symmetric memory makes before it communicates."""
    copy = "void at::native::elementwise_kernel<128, 4>(...)"
    trace = read([*step(copy, around("symm_mem::one_shot_all_reduce_copy")), *nccl()])
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 100)}


def test_a_gemm_inside_a_fused_op_is_compute():
    call = around("symm_mem::fused_all_gather_matmul", TWO, HALF)
    trace = read([*step("ampere_bf16_gemm", call), *nccl()])
    assert trace.report.collectives == {ALL_REDUCE: Total(1, 100)}


def test_kernels_beside_nccl_s_have_a_channel_of_their_own():
    events = step("multimem_all_reduce_kernel", around("symm_mem::multimem_all_reduce_"), *nccl())
    trace = read(events, distributedInfo={"world_size": 8})
    assert {c.name: c.workers for c in trace.channels} == {"nvlink": 8, "gpu 0 stream 20": 8}
    group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8}
    trace = read(events, distributedInfo={"world_size": 8, "pg_config": [group]})
    assert {o.channel for o in trace.graph.ops if o.kind != COMPUTE} >= {"network"}
