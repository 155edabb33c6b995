"""PHub's testbed and networks: section 4.1, Table 3, and its box as a machine."""

from dataclasses import replace
from typing import NamedTuple

from solver.models import resnet50, vgg19
from solver.models.vision import vgg
from solver.placements.chunk_sizes import chunk_point
from solver.placements.chunks import CHUNK_BYTES, Key
from solver.placements.exchange_graph import Hosts
from solver.placements.machine import ServerMachine
from solver.placements.plan import keys_of
from solver.placements.published import PHUB
from solver.placements.systems import Rack

#: Section 4.1: workers, the box's cards, and its 28 cores as whole ones a card.
WORKERS, INTERFACES, CORES = 8, 10, 2
#: Section 4.3: the slow network; what a card of 56 Gbit/s carries: 136 GB/s over twenty directions
#: (Section 3.3).
SLOW_GBPS, FAST_GBPS = 10.0, 54.4
#: Assumed: what a core sums from caches [10^9 bytes a second]; the paper says that it is hidden.
CORE_GBYTES_PER_S = 8.0
#: Transfers of a simulation: the first chunks of an exchange, which goes on at their pace.
MOST = 4_000
#: MXNet's AlexNet, 194 MiB: five convolutions without groups, three fully connected layers.
ALEXNET = (34_944, 614_656, 885_120, 1_327_488, 884_992, 26_218_496, 16_781_312, 4_097_000)


class Trained(NamedTuple):
    """A row of Table 3: megabytes, milliseconds of a batch, images of it."""

    megabytes: int
    ms: int
    batch: int

    @property
    def bytes(self) -> int:
        return self.megabytes * 10**6

    @property
    def us(self) -> float:
        return self.ms * 1e3


TABLE_3 = {
    "AlexNet": Trained(194, 16, 32),
    "VGG 11": Trained(505, 121, 32),
    "VGG 19": Trained(548, 268, 32),
    "GoogleNet": Trained(38, 100, 32),
    "Inception": Trained(91, 225, 32),
    "ResNet 18": Trained(45, 54, 32),
    "ResNet 50": Trained(97, 161, 32),
    "ResNet 269": Trained(390, 350, 16),
    "ResNext 269": Trained(390, 386, 8),
}
#: Compute of no time is measured with it.
RESNET_18 = (Key("model", TABLE_3["ResNet 18"].bytes),)


def layers() -> dict[str, tuple[Key, ...]]:
    """Return the keys of four of these networks in the order of the backward pass."""
    alexnet = [Key(f"layer{i}", 4 * count) for i, count in enumerate(ALEXNET, 1)]
    vgg11 = [Key(name, 4 * count) for step in vgg(11) for name, count in step.parameters]
    return {
        "AlexNet": tuple(reversed(alexnet)),
        "VGG 11": tuple(reversed(vgg11)),
        "VGG 19": keys_of(vgg19()),
        "ResNet 50": keys_of(resnet50()),
    }


def box(workers: int = WORKERS, machine: ServerMachine = PHUB) -> Hosts:
    """Return the box and so many workers."""
    return Hosts("ncc", workers, 1, INTERFACES, CORES, CORE_GBYTES_PER_S, machine)


def unsummed() -> Hosts:
    """Return the box without sums and updates, whose memory then bounds nothing."""
    machine = replace(PHUB, memory_gbytes_per_s=None)
    return Hosts("ncc", WORKERS, 1, INTERFACES, CORES, None, machine)


def rack(gbps: float, workers: int = WORKERS) -> Rack:
    """Return workers on cards of a bandwidth, and what their servers would be made of."""
    return Rack(workers, gbps, None, INTERFACES, CORES, CORE_GBYTES_PER_S, PHUB)


def exchange_us(keys: tuple[Key, ...], hosts: Hosts) -> float:
    """Return the time of an exchange with the fast cards and chunks of 32 KiB [us]."""
    time = chunk_point(keys, hosts, FAST_GBPS, CHUNK_BYTES, MOST).exchange_us
    assert time is not None
    return time
