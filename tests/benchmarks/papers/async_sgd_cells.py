"""Predicted throughput for the asynchronous SGD paper's runs: models, steps and options."""

from collections.abc import Iterator, Sequence
from functools import cache

from solver.models.layers import Layer, iteration
from solver.models.steps import ForwardStep, convolution, linear
from solver.parameter_server.of_graph import step_of
from solver.parameter_server.options import ThroughputOptions
from solver.parameter_server.rows import Throughput
from solver.parameter_server.steps import ServerStep
from solver.parameter_server.throughput import predict
from tests.benchmarks.papers.inception import inception_v3

CLOUD_GBPS, PRIVATE_GBPS = 10.0, 1.0
#: gRPC's window, on average (section 3.2.2) [bytes].
WIN_BYTES = 28_000_000
COUNTS = tuple(range(1, 11))
STEPS = 100


def step_for(
    steps: Sequence[ForwardStep], batch_us: float, servers: int = 1, name: str = "step"
) -> ServerStep:
    """Split the time of a batch over layers by FLOPs, backward twice forward; fp32."""
    total = sum(step.flops for step in steps)
    layers = [
        Layer(
            step.name,
            batch_us / 3 * step.flops / total,
            batch_us * 2 / 3 * step.flops / total,
            ((step.name, 4 * sum(count for _, count in step.parameters)),),
        )
        for step in steps
    ]
    return step_of(iteration(name, layers), servers)


@cache
def inception(batch: int, speed: float) -> Throughput:
    step = step_for(list(inception_v3()), batch / speed * 1e6)
    return predict([step], options(COUNTS, CLOUD_GBPS, batch))


def options(
    counts: tuple[int, ...],
    gbps: float,
    batch: int,
    win_bytes: int | None = WIN_BYTES,
    *,
    synchronous: bool = False,
) -> ThroughputOptions:
    return ThroughputOptions(
        counts,
        (gbps,),
        batch,
        win_bytes,
        steps=STEPS,
        dropped=STEPS // 5,
        synchronous=synchronous,
        explain=False,
    )


def alexnet() -> Iterator[ForwardStep]:
    """Yield AlexNet of one column, 61 million parameters, as TensorFlow's benchmarks have it."""
    yield convolution("conv1", 3, 64, 11, 55**2, bias=True)
    yield convolution("conv2", 64, 192, 5, 27**2, bias=True)
    yield convolution("conv3", 192, 384, 3, 13**2, bias=True)
    yield convolution("conv4", 384, 256, 3, 13**2, bias=True)
    yield convolution("conv5", 256, 256, 3, 13**2, bias=True)
    yield linear("fc6", 256 * 6**2, 4096, bias=True)
    yield linear("fc7", 4096, 4096, bias=True)
    yield linear("fc8", 4096, 1000, bias=True)
