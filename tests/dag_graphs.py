"""Random general graphs with whole times: collectives behind collectives, lanes and streams."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from solver.costs import Affine, ChannelCost, Cluster, Network
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    COMPUTE,
    NETWORK,
    REDUCE_SCATTER,
    Graph,
    Op,
    build,
)

#: Start-ups of a lane [us]; a byte takes 1 to 3 us, a tensor has 1 to 24 bytes.
STARTUPS = (0, 1, 4, 12, 40)
NVLINK = "nvlink"


@dataclass(frozen=True)
class Case:
    """A graph and the cost of a launch in each of its lanes; times and bytes are integers."""

    name: str
    graph: Graph
    costs: dict[ChannelCost, Affine]

    @property
    def network(self) -> Network:
        return Network(self.costs.__getitem__)

    @property
    def cluster(self) -> Cluster:
        """One that can be posted: two workers, and each channel at the cost of one of its lanes."""
        of_channel = {lane.channel: cost for lane, cost in self.costs.items()}
        rings = {
            channel: Cluster(2, 0.008 / cost.per_byte, cost.startup)
            for channel, cost in of_channel.items()
        }
        return replace(rings.pop(NETWORK, Cluster(2, 10)), channels=tuple(rings.items()))


def case(seed: int, least: int = 6, most: int = 12, unit: int = 1) -> Case:
    """Draw a graph of ``least`` to ``most`` collectives, of sizes in multiples of ``unit``."""
    generator = random.Random(seed)
    family = generator.choice(list(FAMILIES))
    for name in (family, "unstructured"):
        for _ in range(100):
            ops = FAMILIES[name](generator, generator.randint(least, most))
            if least <= sum(op.kind != COMPUTE for op in ops) <= most:
                return _priced(f"{name} {seed}", ops, generator, unit)
    raise AssertionError("unstructured graphs have any number of collectives")


def _priced(name: str, ops: list[Op], generator: random.Random, unit: int) -> Case:
    lanes = dict.fromkeys(ChannelCost(op.channel, op.kind) for op in ops if op.kind != COMPUTE)
    costs = {
        lane: Affine(generator.choice(STARTUPS), generator.choice((1, 1, 2, 3)) / unit)
        for lane in lanes
    }
    faster = generator.choice((1, 1, 3, 8))
    sized = [
        op._replace(duration_us=float(op.duration_us // faster))
        if op.duration_us is not None
        else op._replace(bytes=(op.bytes or 0) * unit)
        for op in ops
    ]
    return Case(name, build(name, sized), costs)


def _compute(name: str, time: int, *after: str, stream: str | None = None) -> Op:
    return Op(name, COMPUTE, float(time), None, after, stream=stream)


def transformer(generator: random.Random, count: int) -> list[Op]:
    """Tensor-parallel blocks: all-reduces between computes, and those of the gradients behind."""
    inner = generator.choice((NETWORK, NVLINK))
    kind = generator.choice((ALL_REDUCE, ALL_TO_ALL, ALL_GATHER))
    stream = generator.choice((None, "gpu"))
    blocks = max(1, count // 3)
    times = [generator.randint(3, 30) for _ in range(blocks)]
    sizes = [generator.randint(1, 12) for _ in range(blocks)]
    ops = []
    last: tuple[str, ...] = ()
    for i in range(blocks):
        ops.append(_compute(f"f{i}", times[i], *last, stream=stream))
        ops.append(Op(f"tf{i}", kind, None, sizes[i], (f"f{i}",), inner))
        last = (f"tf{i}",)
    for i in reversed(range(blocks)):
        ops.append(_compute(f"b{i}", 2 * times[i], *last, stream=stream))
        ops.append(Op(f"tb{i}", kind, None, sizes[i], (f"b{i}",), inner))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, generator.randint(1, 24), (f"b{i}",)))
        last = (f"tb{i}",)
    if generator.random() < 0.5:
        last = ()
        for i in range(blocks):
            ops.append(_compute(f"u{i}", times[i], f"g{i}", *last))
            last = (f"u{i}",)
    return ops


def fsdp(generator: random.Random, count: int) -> list[Op]:
    """Sharded layers: gathered before each pass, a few ahead, and scattered after the backward."""
    ahead = generator.choice((1, 2, 3))
    out = generator.choice((NETWORK, NVLINK))
    again = generator.random() < 0.6
    layers = max(1, count // (3 if again else 2))
    sizes = [generator.randint(1, 24) for _ in range(layers)]
    ops: list[Op] = []
    last: tuple[str, ...] = ()
    for i in range(layers):
        gate = (f"f{i - ahead}",) if i >= ahead else ()
        ops.append(Op(f"af{i}", ALL_GATHER, None, sizes[i], gate))
        ops.append(_compute(f"f{i}", generator.randint(3, 40), f"af{i}", *last, stream="gpu"))
        last = (f"f{i}",)
    for i in reversed(range(layers)):
        after = last
        if again:
            j = i + ahead
            gate = (f"b{j}",) if j < layers else (f"f{layers - 1}",)
            ops.append(Op(f"ab{i}", ALL_GATHER, None, sizes[i], gate))
            after = (f"ab{i}", *last)
        ops.append(_compute(f"b{i}", generator.randint(3, 60), *after, stream="gpu"))
        ops.append(Op(f"r{i}", REDUCE_SCATTER, None, sizes[i], (f"b{i}",), out))
        last = (f"b{i}",)
    if generator.random() < 0.5:
        ops += [_compute(f"u{i}", generator.randint(0, 20), f"r{i}") for i in range(layers)]
    return ops


def pipeline(generator: random.Random, count: int) -> list[Op]:
    """Two or three stages, each a stream; micro-batches sent between them, then gradients."""
    stages = generator.choice((2, 3))
    batches = max(1, (count - stages) // (2 * (stages - 1)))
    wires = generator.choice((1, 2))
    times = [generator.randint(4, 30) for _ in range(stages)]
    size = generator.randint(1, 16)
    ops = []

    def sent(name: str, source: str, wire: int) -> Op:
        return Op(name, BROADCAST, None, size, (source,), (NVLINK, NETWORK)[wire % wires])

    for k in range(batches):
        for s in range(stages):
            after = (f"sf{s - 1}.{k}",) if s else ()
            ops.append(_compute(f"f{s}.{k}", times[s], *after, stream=f"gpu{s}"))
            if s < stages - 1:
                ops.append(sent(f"sf{s}.{k}", f"f{s}.{k}", s))
    for k in range(batches):
        for s in reversed(range(stages)):
            after = (f"sb{s + 1}.{k}",) if s < stages - 1 else (f"f{s}.{k}",)
            ops.append(_compute(f"b{s}.{k}", 2 * times[s], *after, stream=f"gpu{s}"))
            if s:
                ops.append(sent(f"sb{s}.{k}", f"b{s}.{k}", s - 1))
    for s in range(stages):
        ops.append(
            Op(f"g{s}", ALL_REDUCE, None, generator.randint(1, 24), (f"b{s}.{batches - 1}",))
        )
        ops.append(_compute(f"u{s}", generator.randint(0, 20), f"g{s}"))
    return ops


def unstructured(generator: random.Random, count: int) -> list[Op]:
    """Any DAG: each op comes after some of those before it."""
    density = generator.choice((0.05, 0.15, 0.3, 0.6))
    channels = generator.choice(((NETWORK,), (NETWORK, NVLINK)))
    kinds = generator.sample((ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER), generator.randint(1, 3))
    streams = generator.choice(((None,), (None, "gpu0"), ("gpu0", "gpu1")))
    names = [f"g{i}" for i in range(count)]
    names += [f"c{i}" for i in range(generator.randint(1, 2 * count))]
    generator.shuffle(names)
    ops = []
    for at, name in enumerate(names):
        near = names[max(0, at - 8) : at]
        after = tuple(other for other in near if generator.random() < density)
        if name.startswith("c"):
            time = generator.choice((0, generator.randint(1, 40)))
            ops.append(_compute(name, time, *after, stream=generator.choice(streams)))
        else:
            kind, channel = generator.choice(kinds), generator.choice(channels)
            ops.append(Op(name, kind, None, generator.randint(1, 24), after, channel))
    return ops


FAMILIES: dict[str, Callable[[random.Random, int], list[Op]]] = {
    "transformer": transformer,
    "fsdp": fsdp,
    "pipeline": pipeline,
    "unstructured": unstructured,
}
