"""ResNet-50 as MXNet's image classification example builds it: 157 tensors."""

from collections.abc import Iterator

from solver.models.steps import ForwardStep, batch_norm, convolution, linear


def resnet50() -> Iterator[ForwardStep]:
    """Normalisation before each convolution, and of the image: 25,549,486 parameters.

    Normalisations: 2 tensors each of the image, after the first convolution, three in each of 16
    units and one at the end; convolutions: the first, 48 in units and 4 shortcuts; weight and bias
    of the head: 2 (2 + 48) + 2 + 53 + 2 = 157.

    References
    ----------
    .. [1] apache/mxnet, example/image-classification/symbols/resnet.py.
    """
    yield batch_norm("bn_data", 3, 224**2)
    yield convolution("conv0", 3, 64, 7, 112**2)
    yield batch_norm("bn0", 64, 112**2)
    inputs, side = 64, 56
    stages = zip((3, 4, 6, 3), (64, 128, 256, 512), strict=True)
    for stage, (count, width) in enumerate(stages, 1):
        for unit in range(1, count + 1):
            name = f"stage{stage}_unit{unit}"
            out = side // 2 if stage > 1 and unit == 1 else side
            yield batch_norm(f"{name}_bn1", inputs, side**2)
            yield convolution(f"{name}_conv1", inputs, width, 1, side**2)
            yield batch_norm(f"{name}_bn2", width, side**2)
            yield convolution(f"{name}_conv2", width, width, 3, out**2)
            yield batch_norm(f"{name}_bn3", width, out**2)
            yield convolution(f"{name}_conv3", width, 4 * width, 1, out**2)
            if unit == 1:
                yield convolution(f"{name}_sc", inputs, 4 * width, 1, out**2)
            inputs, side = 4 * width, out
    yield batch_norm("bn1", inputs, side**2)
    yield linear("fc1", inputs, 1000, bias=True)
