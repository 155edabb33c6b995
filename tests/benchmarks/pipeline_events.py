"""Events a second of simulated pipelines, the time and the memory that they take.

    .venv/bin/python -m tests.benchmarks.pipeline_events

Each row builds a pipeline of one-forward-one-backward with tensor parallelism in its stages: every
layer of every pass ends with an all-reduce on its stage's channel, passes are handed over by
``send_recv``, and each stage's gradients are summed at last. Times are of the process's CPU.
"""

import resource
import time
from itertools import chain
from typing import NamedTuple

from solver.chain import chain_of
from solver.costs import Cluster, network_of
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.policies import POLICIES
from solver.simulation.engine import iteration_time, simulate
from tests.pipelines import Pipeline


class Shape(NamedTuple):
    """Stages, micro-batches and layers of a stage."""

    stages: int
    batches: int
    layers: int


#: 405 billion parameters: 8 stages of 16 layers, 2 all-gathers and 2 reduce-scatters a pass each,
#: 72 micro-batches; and one with a million launches.
SHAPES = {"405B, 8 stages": Shape(8, 72, 64), "a million launches": Shape(8, 144, 432)}


def main() -> None:
    """Print a line for each shape."""
    for name, shape in SHAPES.items():
        ops, channels = graph_of(shape)
        began = time.process_time()
        graph = build(name, ops)
        built = time.process_time()
        chain_of(graph)
        chained = time.process_time()
        network = network_of(Cluster(1, channels=tuple(channels.items())))
        took = iteration_time(graph, network, POLICIES["wfbp"])
        ran = time.process_time()
        timeline = simulate(graph, network, POLICIES["wfbp"])
        done = time.process_time()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name}: {len(ops):,} ops, {len(graph.collectives):,} launches, "
            f"iteration {took / 1e3:.1f} ms; build {built - began:.2f} s, chain "
            f"{chained - built:.2f} s, time alone {ran - chained:.2f} s, timeline "
            f"{done - ran:.2f} s: {timeline.events / (done - ran):,.0f} events/s; {memory:.0f} MiB"
        )


def graph_of(shape: Shape) -> tuple[list[Op], dict[str, Cluster]]:
    """Return the ops of a shape, and its channels."""
    pipeline = Pipeline(shape.stages, shape.batches)
    own = {name: Cluster(**each) for name, each in pipeline.channels().items()}
    ops = list(chain.from_iterable(_layers(op, shape.layers) for op in pipeline.ops()))
    for stage in range(shape.stages):
        own[f"tp{stage}"] = Cluster(8, 2_400, startup_us=10)
        own[f"dp{stage}"] = Cluster(64, 100, startup_us=30)
        last = f"b{stage}.{shape.batches - 1}"
        ops.append(Op(f"sum{stage}", ALL_REDUCE, None, 50_000_000, (last,), f"dp{stage}"))
    return ops, own


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _layers(op: dict[str, object], layers: int) -> list[Op]:
    """Cut a pass in layers, each with its all-reduce; the last op has the name of the pass."""
    name, after = str(op["id"]), _texts(op["after"])
    if op["kind"] != COMPUTE:
        return [Op(name, str(op["kind"]), None, int(op["bytes"]), after, str(op["channel"]))]  # type: ignore[call-overload]
    stream, ops = str(op["stream"]), []
    stage = stream.split("/", maxsplit=1)[0]
    for layer in range(layers):
        part, total = f"{name}.{layer}", f"{name}.{layer}+"
        time_us = float(op["duration_us"]) / layers  # type: ignore[arg-type]
        ops.append(Op(part, COMPUTE, time_us, None, after, stream=stream))
        ops.append(Op(total, ALL_REDUCE, None, 1_000_000, (part,), f"tp{stage}"))
        after = (total,)
    return [*ops, Op(name, COMPUTE, 0.0, None, after, stream=stream)]


if __name__ == "__main__":
    main()
