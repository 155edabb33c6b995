"""Published figures of GPUs: dense FLOP/s, memory, and the links between those of a node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """What a GPU does at most.

    Attributes
    ----------
    half, tf32, single
        Dense rates [TFLOP/s]: of bf16 and fp16, of tf32, of fp32 without tf32.
    memory
        Bandwidth of its memory [TB/s].
    link_gbps
        To the other GPUs of its node, one way, of all its links [Gbit/s].
    source
        Where the figures are from.
    """

    half: float
    tf32: float
    single: float
    memory: float
    link_gbps: float
    source: str


#: Rates without sparsity: half of those that data sheets give with it. Links one way: half of what
#: data sheets give both ways.
GPUS: dict[str, Gpu] = {
    "h100": Gpu(989.4, 494.7, 66.9, 3.35, 3600, "NVIDIA H100 data sheet, SXM5"),
    "h200": Gpu(989.4, 494.7, 66.9, 4.8, 3600, "NVIDIA H200 data sheet, SXM"),
    "a100": Gpu(312, 156, 19.5, 2.039, 2400, "NVIDIA A100 data sheet, 80 GB SXM"),
    "b200": Gpu(2250, 1125, 75, 7.7, 7200, "NVIDIA HGX B200 data sheet, an eighth of it"),
    "l40s": Gpu(362, 183, 91.6, 0.864, 256, "NVIDIA L40S data sheet; links: PCIe 4.0 x16"),
    "mi300x": Gpu(1307.4, 653.7, 163.4, 5.3, 3584, "AMD Instinct MI300X data sheet"),
}


def gpu_named(name: str) -> Gpu:
    """Return the figures of a GPU.

    Raises
    ------
    ValueError
        If there are none of this name.
    """
    if name not in GPUS:
        raise ValueError(f"gpu: must be one of {', '.join(GPUS)}, or a Gpu; got {name!r}.")
    return GPUS[name]
