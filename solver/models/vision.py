"""Networks for images of 224 x 224."""

from collections.abc import Iterator

from solver.graph import Graph
from solver.models.steps import SINGLE, ForwardStep, batch_norm, convolution, graph_of, linear

#: 3 x 3 convolutions of each block of VGG, by depth.
_VGG = {11: (1, 1, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
#: Bottlenecks of each stage of ResNet, by depth.
_RESNET = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def vgg_convolutions(depth: int) -> Iterator[ForwardStep]:
    """3 x 3 convolutions with bias of VGG of depth 11, 16 or 19; they leave 512 x 7 x 7."""
    inputs, side = 3, 224
    for block, (count, outputs) in enumerate(
        zip(_VGG[depth], (64, 128, 256, 512, 512), strict=True), 1
    ):
        for i in range(1, count + 1):
            name = f"conv{block}_{i}"
            yield convolution(name, inputs, outputs, 3, side**2, bias=True)
            inputs = outputs
        side //= 2


def vgg(depth: int) -> Iterator[ForwardStep]:
    """VGG of depth 11, 16 or 19: convolutions, then three fully connected layers."""
    yield from vgg_convolutions(depth)
    yield linear("fc6", 512 * 7**2, 4096, bias=True)
    yield linear("fc7", 4096, 4096, bias=True)
    yield linear("fc8", 4096, 1000, bias=True)


def resnet(depth: int) -> Iterator[ForwardStep]:
    """ResNet of depth 50, 101 or 152; each block halves the image in its 3 x 3 convolution."""
    yield from _normalise("conv1", 3, 64, 7, 112**2)
    inputs, side = 64, 56
    for stage, (count, width) in enumerate(
        zip(_RESNET[depth], (64, 128, 256, 512), strict=True), 1
    ):
        for block in range(count):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            yield from _normalise(f"{name}.conv1", inputs, width, 1, side**2)
            side //= stride
            yield from _normalise(f"{name}.conv2", width, width, 3, side**2)
            yield from _normalise(f"{name}.conv3", width, 4 * width, 1, side**2)
            if block == 0:
                yield from _normalise(f"{name}.downsample", inputs, 4 * width, 1, side**2)
            inputs = 4 * width
    yield linear("fc", inputs, 1000, bias=True)


def _normalise(
    name: str, inputs: int, outputs: int, kernel: int, pixels: int
) -> Iterator[ForwardStep]:
    """Convolution without bias, then batch normalisation."""
    yield convolution(name, inputs, outputs, kernel, pixels)
    yield batch_norm(f"{name}.bn", outputs, pixels)


def vgg16(batch: int = 64) -> Graph:
    """VGG-16 (configuration D) on 224 x 224 images: 138,357,544 parameters in 32 tensors, fp32.

    References
    ----------
    .. [1] K. Simonyan, A. Zisserman, Very Deep Convolutional Networks, ICLR 2015, Table 1.
    """
    return graph_of("VGG-16 (generated)", list(vgg(16)), batch, SINGLE, 4)


def vgg19(batch: int = 64) -> Graph:
    """VGG-19 (configuration E) on 224 x 224 images: 143,667,240 parameters in 38 tensors, fp32.

    References
    ----------
    .. [1] K. Simonyan, A. Zisserman, Very Deep Convolutional Networks, ICLR 2015, Table 1.
    """
    return graph_of("VGG-19 (generated)", list(vgg(19)), batch, SINGLE, 4)


def resnet50(batch: int = 64) -> Graph:
    """ResNet-50 on 224 x 224 images: 25,557,032 parameters in 161 tensors, fp32.

    Each block halves the image in its 3 x 3 convolution.

    References
    ----------
    .. [1] K. He et al., Deep Residual Learning for Image Recognition, CVPR 2016, Table 1.
    """
    return graph_of("ResNet-50 (generated)", list(resnet(50)), batch, SINGLE, 4)


def resnet101(batch: int = 64) -> Graph:
    """ResNet-101 on 224 x 224 images: 44,549,160 parameters in 314 tensors, fp32.

    References
    ----------
    .. [1] K. He et al., Deep Residual Learning for Image Recognition, CVPR 2016, Table 1.
    """
    return graph_of("ResNet-101 (generated)", list(resnet(101)), batch, SINGLE, 4)


def resnet152(batch: int = 64) -> Graph:
    """ResNet-152 on 224 x 224 images: 60,192,808 parameters in 467 tensors, fp32.

    References
    ----------
    .. [1] K. He et al., Deep Residual Learning for Image Recognition, CVPR 2016, Table 1.
    """
    return graph_of("ResNet-152 (generated)", list(resnet(152)), batch, SINGLE, 4)
