"""PACE's four models on its testbed: one iteration under each policy."""

import math
from functools import cache, partial
from typing import NamedTuple

from solver.costs import Cluster, network_of
from solver.graph import Graph, with_barrier
from solver.models.layers import iteration
from solver.models.steps import ForwardStep
from solver.models.translation import SENTENCE, seq2seq_steps, transformer_steps
from solver.models.vision import vgg
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.horovod import horovod
from solver.simulation.engine import Policy, simulate
from tests.benchmarks.papers import mxnet
from tests.benchmarks.papers.gpus import BATCH, RESNET50_US, SPEED, timed, training_flops, vgg_us

#: Start-up of a launch [us]: below 1 MB Fig. 3 is no longer linear, so there it costs what moving
#: 1 MB does: 2 15/16 1 MB at 25 Gbit/s, the peak of the testbed of 16 GPUs.
START_UP_US = 600.0
#: Horovod before 0.21, over NCCL: cycles of 5 ms, buffers of 64 MiB.
HOROVOD: Policy = partial(horovod, cycle_time_us=5_000.0, fusion_threshold_bytes=2**26)
RIVALS: dict[str, Policy] = {
    "wfbp": POLICIES["wfbp"],
    "horovod": HOROVOD,
    "tictac": POLICIES["tictac"],
}


class Model(NamedTuple):
    """A row of Table II: steps, samples of a batch, forward and backward time of it [us]."""

    steps: list[ForwardStep]
    samples: int
    time_us: float
    million: float
    tensors: int


class Key(NamedTuple):
    """One iteration; ``slowness`` multiplies the compute times.

    A launch is negotiated for so long with each worker, and the transport carries at most
    ``reached_gbps``, whatever the link does.
    """

    model: str
    workers: int = 12
    gbps: float = 10.0
    startup_us: float = START_UP_US
    slowness: float = 1.0
    joint: bool = False
    negotiation_us: float = 0.0
    reached_gbps: float = math.inf


@cache
def models() -> dict[str, Model]:
    """Table II with its batches: 64 and 32 images, 4,096 and 2,048 words on each side."""
    vgg16, resnet50 = list(vgg(16)), list(mxnet.resnet50())
    seq2seq, transformer = list(seq2seq_steps(32_768)), list(transformer_steps(31_000))
    sentences = (4096 // SENTENCE, 2048 // SENTENCE)
    return {
        "VGG16": Model(vgg16, 64, vgg_us(vgg16) * 64 / BATCH, 138.4, 32),
        "ResNet50": Model(resnet50, 32, RESNET50_US, 25.5, 157),
        "Seq2Seq": Model(seq2seq, sentences[0], _by_flops(seq2seq, sentences[0]), 67.2, 32),
        "Transformer": Model(
            transformer, sentences[1], _by_flops(transformer, sentences[1]), 91.8, 164
        ),
    }


def _by_flops(steps: list[ForwardStep], samples: int) -> float:
    return training_flops(steps) * samples / SPEED


@cache
def graph(name: str, slowness: float = 1.0) -> Graph:
    model = models()[name]
    return iteration(name, timed(model.steps, model.samples, model.time_us * slowness))


def times(key: Key) -> dict[str, float]:
    """Iteration time [us] of each policy, alone and with ``+ barrier``, and of a joint plan."""
    alone = graph(key.model, key.slowness)
    cluster = Cluster(
        key.workers,
        key.gbps,
        key.startup_us,
        negotiation_us_per_worker=key.negotiation_us,
        line_rate_share=min(1.0, key.reached_gbps / key.gbps),
    )
    network = network_of(cluster)
    found = {"pace": simulate(alone, network, POLICIES["pace"]).iteration_time}
    for suffix, ran in (("", alone), (" + barrier", with_barrier(alone))):
        for name, policy in RIVALS.items():
            found[name + suffix] = simulate(ran, network, policy).iteration_time
    if key.joint:
        found["joint"] = plan(alone, network, Options(baselines=())).iteration_time_us
    return found


def gain(found: dict[str, float], policy: str) -> float:
    """How much more speed PACE gives than a policy: a ratio of times, less 1."""
    return found[policy] / found["pace"] - 1
