"""Compute times that both papers leave out: PHub's Table 3, and what follows from it.

PHub measured forward and backward pass of 32 images on a GTX 1080 Ti under MXNet: VGG-11 121 ms,
VGG-19 268 ms, ResNet-50 161 ms. VGG-16 lies on the line through VGG-11 and VGG-19 in FLOPs. What
the table does not have runs at the FLOPs per second of its ResNet-50, whose 1 x 1 convolutions are
matrix products; VGG's 3 x 3 convolutions are faster than the GPU's peak, by Winograd's method.
"""

from collections.abc import Sequence

from solver.models.layers import Layer
from solver.models.steps import ForwardStep, layers_of
from solver.models.vision import resnet, vgg

BATCH = 32
VGG11_US, VGG19_US, RESNET50_US = 121e3, 268e3, 161e3
#: An RTX 2080 Ti trains so many times faster in 32 bit (lambdalabs.com, RTX 2080 Ti Deep Learning
#: Benchmarks with TensorFlow, 2019: mean of six networks).
RTX_2080_TI = 1.35


def training_flops(steps: Sequence[ForwardStep]) -> float:
    """FLOPs of a sample: the backward pass takes twice its forward pass."""
    return 3 * sum(step.flops for step in steps)


def vgg_us(steps: Sequence[ForwardStep]) -> float:
    """Time of 32 images [us], on the line through VGG-11 and VGG-19."""
    small, large = (training_flops(list(vgg(depth))) for depth in (11, 19))
    share = (training_flops(steps) - small) / (large - small)
    return VGG11_US + share * (VGG19_US - VGG11_US)


#: Sustained FLOP/us of PHub's ResNet-50 on a GTX 1080 Ti: 4.9 TFLOP/s.
SPEED = training_flops(list(resnet(50))) * BATCH / RESNET50_US


def timed(steps: Sequence[ForwardStep], samples: int, time_us: float) -> list[Layer]:
    """Split the time of an iteration [us] over steps by FLOPs; fp32."""
    speed = training_flops(steps) * samples / time_us
    return layers_of(steps, samples, speed, 4)
