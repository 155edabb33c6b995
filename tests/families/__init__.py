"""Seeded families of general graphs, as published ways of training make them."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from solver.costs import Cluster, Network, network_of
from solver.graph import Graph, Op, build
from solver.models.parallel import NVLINK
from tests.families.branched import branched
from tests.families.experts import experts
from tests.families.pipelines import P2P, pipeline
from tests.families.sharded import fsdp, tensors_and_zero, zero

#: Collectives of a graph, about; start-up of a launch on the network [us], and its Gbit/s.
SIZES, STARTUPS, RATES = (16, 50, 150, 300, 1000, 3000), (50, 500), (25, 100)
#: Ranks of each channel, and what a node has within.
WORKERS, NODE, NODE_GBPS, NODE_STARTUP_US = 16, 8, 2400, 20


@dataclass(frozen=True)
class Instance:
    """A graph and a network to plan it on, and the best plan that is known from elsewhere [us]."""

    family: str
    name: str
    graph: Graph
    network: Network
    known: float | None = None


#: A family: draws the ops of a graph of about so many collectives.
Family = Callable[[random.Random, int], Sequence[Op]]

FAMILIES: dict[str, Family] = {
    "moe": partial(experts, batches=1),
    "moe-2": partial(experts, batches=2),
    "zero-1": zero,
    "fsdp-even-2": partial(fsdp, limit=2, even=True),
    "fsdp-even-4": partial(fsdp, limit=4, even=True),
    "fsdp-uneven-2": partial(fsdp, limit=2, even=False),
    "fsdp-uneven-4": partial(fsdp, limit=4, even=False),
    "tp-zero": tensors_and_zero,
    "pipeline": pipeline,
    "branched": branched,
}


def drawn(family: str, collectives: int, seed: int = 0) -> Graph:
    """Draw a graph: the same family, size and seed give the same graph everywhere."""
    generator = random.Random(f"{family} {collectives} {seed}")
    return build(f"{family} {collectives} {seed}", FAMILIES[family](generator, collectives))


def cluster(startup_us: float, gbps: float) -> Cluster:
    """Rings of 16 workers; within a node, and between two stages of a pipeline, rings of their own.

    Stages send at the network's rate, and begin as soon as within a node.
    """
    node = Cluster(NODE, NODE_GBPS, NODE_STARTUP_US)
    stages = Cluster(2, gbps, NODE_STARTUP_US)
    channels = ((NVLINK, node), (P2P, stages))
    return Cluster(WORKERS, gbps, startup_us, channels=channels)


def network(startup_us: float, gbps: float) -> Network:
    """Return the network of such a cluster."""
    return network_of(cluster(startup_us, gbps))


def instances(families: Sequence[str], most: int, seed: int = 0) -> Iterator[Instance]:
    """Draw all graphs of families with about ``most`` collectives or fewer, on all networks."""
    for family, size in product(families, SIZES):
        if size <= most:
            graph = drawn(family, size, seed)
            for startup, rate in product(STARTUPS, RATES):
                name = f"{family} {size}, {startup} us, {rate} Gbit/s"
                yield Instance(family, name, graph, network(startup, rate))


def small(seed: int) -> Instance:
    """Draw a branched graph of 8 to 20 collectives, and a network on which its start-ups count."""
    generator = random.Random(f"small {seed}")
    graph = drawn("branched", generator.randint(8, 20), seed)
    startup, rate = generator.choice((50, 500, 2000)), generator.choice((10, 25, 100))
    name = f"branched {seed}, {startup} us, {rate} Gbit/s"
    return Instance("branched", name, graph, network(startup, rate))
