"""Kernels that communicate without NCCL, by their names and by those of the ops that launch them.

The names are those of the libraries' sources: PyTorch's symmetric memory, the all-reduces that
vLLM, SGLang, FlashInfer and TensorRT-LLM bring along, DeepEP, oneCCL and HCCL. RCCL's are NCCL's.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, NETWORK, REDUCE_SCATTER

#: Kinds by what their names hold, with letters only; the first that fits.
KINDS = (
    ("allreduce", ALL_REDUCE),
    ("reducescatter", REDUCE_SCATTER),
    ("allgather", ALL_GATHER),
    ("alltoall", ALL_TO_ALL),
    ("broadcast", BROADCAST),
)
#: What kernels of a node send over.
NVLINK = "nvlink"


@dataclass(frozen=True, slots=True)
class Family:
    """Kernels of one origin.

    Attributes
    ----------
    name
        What people call it.
    kernel
        What the names of its kernels hold.
    op
        How the names of the ops that launch them begin; empty when no op tells.
    kind
        Of its collectives; None when the name of each says it.
    channel
        What it sends over.
    """

    name: str
    kernel: re.Pattern[str]
    op: tuple[str, ...]
    kind: str | None
    channel: str


def _family(
    name: str, kernel: str, op: tuple[str, ...], kind: str | None, channel: str = NVLINK
) -> Family:
    return Family(name, re.compile(kernel, re.IGNORECASE), op, kind, channel)


#: The first that fits; add a family here.
FAMILIES = (
    _family(
        "PyTorch's symmetric memory",
        r"multimem_(all_reduce|all_gather|one_shot|reduce_scatter)|symm_mem|symmetric_memory"
        r"|(one|two)_shot_all_reduce(_out)?_kernel|(nvshmem|all_to_all)_v?dev|all_to_all_vdev"
        r"|reduce_scatter_(out_)?kernel|nvshmem_extension",
        ("symm_mem::",),
        None,
    ),
    _family(
        "vLLM's or SGLang's custom all-reduce",
        r"cross_device_reduce_[12]stage",
        ("_C_custom_ar::", "sgl_kernel::all_reduce", "vllm::all_reduce", "sglang::"),
        ALL_REDUCE,
    ),
    _family(
        "quick all-reduce",
        r"quick_?(all_?)?reduce|allreduce_prototype_twoshot",
        ("_C_custom_ar::qr_",),
        ALL_REDUCE,
    ),
    _family(
        "TensorRT-LLM's or FlashInfer's all-reduce",
        r"allreduce_fusion_kernel|(one|two)_?shot_?all_?reduce_?kernel|moereduction_allreduce"
        r"|lamportstyle|all_?reduce_?norm_?kernel|userbuffers_fp16_sum",
        ("trtllm::", "flashinfer::"),
        ALL_REDUCE,
    ),
    _family(
        "DeepEP between nodes",
        r"(deep_ep::)?(internode(_ll)?::(notify_|cached_notify_?)?(dispatch|combine)|internode"
        r"(_ll)?::cached_notify)|low_latency_(dispatch|combine)",
        ("deep_ep::", "FusedDispatch", "FusedCombine"),
        ALL_TO_ALL,
        NETWORK,
    ),
    _family(
        "DeepEP in a node",
        r"deep_ep::|intranode::\w*(dispatch|combine)|(cached_)?notify_(dispatch|combine)",
        ("deep_ep::", "FusedDispatch", "FusedCombine"),
        ALL_TO_ALL,
    ),
    _family(
        "oneCCL",
        r"(?<![a-z])(oneccl|ccl_(all|reduce|broadcast))",
        ("oneccl", "torch_ccl::", "c10d::", "xccl:"),
        None,
        NETWORK,
    ),
    _family(
        "HCCL",
        r"(?<![a-z])(hcom_|hccl)",
        ("hccl", "c10d::", "npu::"),
        None,
        NETWORK,
    ),
)
#: Ops whose kernels communicate whatever their names are.
_OPS = ("symm_mem::", "_C_custom_ar::", "deep_ep::")
#: What is left over and looks like communication.
_SUSPECT = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|multimem|nvshmem|ibgda|symm_?mem"
    r"|lamport|rdma|memcpy (ptop|p2p|peer)|(?<![a-z])(p2p|ccl|ucc|mpi)_",
    re.IGNORECASE,
)
#: Those that also multiply matrices: of their kernels only the names tell.
_FUSED = re.compile(r"fused|matmul|_mm")
#: Loops over elements, which such an op may also launch.
_ELEMENTWISE = re.compile(r"at::native|elementwise|memcpy|memset|cub::", re.IGNORECASE)
#: Reductions in a block of threads or a warp.
_LOCAL = re.compile(r"(block|warp|thread|cta|sub_?group)_?all_?reduce", re.IGNORECASE)


@cache
def family_of(kernel: str, op: str) -> Family | None:
    """Return the family of a kernel that an op launched; None for all others, NCCL's among them."""
    if _LOCAL.search(kernel):
        return None
    for family in FAMILIES:
        if family.kernel.search(kernel):
            return family
    if op.startswith(_OPS) and not (_FUSED.search(op) or _ELEMENTWISE.search(kernel)):
        return next((family for family in FAMILIES if op.startswith(family.op)), None)
    return None


@cache
def is_suspect(kernel: str) -> bool:
    """Tell whether a kernel of no family looks like communication by its name."""
    return bool(_SUSPECT.search(kernel)) and not _LOCAL.search(kernel)


def may_launch_any(op: str) -> bool:
    """Tell whether kernels that an op launches may communicate whatever their names are."""
    return op.startswith(_OPS)


@lru_cache(maxsize=4_096)
def kind_in(name: str | None) -> str | None:
    """Return the kind that a name holds, in any spelling; None when there is none."""
    plain = re.sub(r"[^a-z]", "", (name or "").lower())
    return next((kind for part, kind in KINDS if part in plain), None)
