"""Hypothesis strategies for whole problems, on a coarse grid so that ties occur."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from solver.buckets import Launch
from solver.costs import Cluster, Cost, Network, PiecewiseCost, cost_of
from solver.graph import ALL_REDUCE, COLLECTIVES, COMPUTE, NETWORK, Graph, Op, build
from solver.schedule import Jobs


@st.composite
def jobs(draw, most=7, longest=6):
    count = draw(st.integers(1, most))
    rows = [
        draw(st.lists(st.integers(0, high), min_size=count, max_size=count))
        for high in (10, longest, 10)
    ]
    return Jobs(*(np.array(row, dtype=np.float64) for row in rows))


@st.composite
def graphs(draw, most=6) -> Graph:
    """A DAG in the PACE class: compute, then tensors, then compute that may wait for them."""
    coarse = st.integers(0, 4).map(lambda n: 100.0 * n)

    def some(names):
        return st.lists(st.sampled_from(names), unique=True, max_size=3) if names else st.just([])

    backward: list[Op] = []
    for i in range(draw(st.integers(1, 5))):
        after = draw(some([op.id for op in backward]))
        backward.append(Op(f"b{i}", COMPUTE, draw(coarse), None, tuple(after)))
    tensors: list[Op] = []
    for i in range(draw(st.integers(1, most))):
        after = draw(some([op.id for op in backward]))
        size = draw(st.integers(1, 6)) * 100_000
        tensors.append(Op(f"g{i}", ALL_REDUCE, None, size, tuple(after)))
    forward: list[Op] = []
    for i in range(draw(st.integers(0, 4))):
        names = [op.id for op in (*backward, *tensors, *forward)]
        forward.append(Op(f"f{i}", COMPUTE, draw(coarse), None, tuple(draw(some(names)))))
    ops = draw(st.permutations([*backward, *tensors, *forward]))
    return build("drawn", ops)


@st.composite
def affine_costs(draw) -> Cost:
    return cost_of(
        Cluster(
            workers=draw(st.sampled_from([1, 2, 8])),
            bandwidth_gbps=draw(st.sampled_from([1.0, 8.0])),
            startup_us=draw(st.sampled_from([0.0, 50.0, 400.0])),
            hop_us=draw(st.sampled_from([0.0, 10.0])),
            reduction_gbps=draw(st.sampled_from([None, 16.0])),
        )
    )


@st.composite
def measured_costs(draw) -> Cost:
    sizes = draw(st.lists(st.integers(1, 20), min_size=2, max_size=5, unique=True))
    points = tuple((size * 50_000, draw(st.integers(1, 12)) * 50.0) for size in sizes)
    startup = draw(st.sampled_from([0.0, 100.0]))
    return cost_of(Cluster(4, algorithm="table", table=points, startup_us=startup))


@st.composite
def piecewise_costs(draw) -> Cost:
    """Jumps up and down at the threshold, flat at first or not, and lines through the origin."""
    curve = PiecewiseCost(
        threshold_bytes=draw(st.sampled_from([1, 50_000, 250_000, 600_000, 10_000_000])),
        log_us=draw(st.sampled_from([0.0, 5.0, 20.0, 100.0])),
        log_constant_us=draw(st.sampled_from([-1500.0, -250.0, 0.0, 50.0])),
        us_per_byte=draw(st.sampled_from([0.0, 1e-4, 1e-3])),
        constant_us=draw(st.sampled_from([0.0, 50.0, 400.0])),
        least_us=draw(st.sampled_from([1.0, 50.0, 300.0])),
    )
    startup = draw(st.sampled_from([0.0, 100.0]))
    return cost_of(Cluster(4, algorithm="piecewise", piecewise=curve, startup_us=startup))


def costs():
    return st.one_of(affine_costs(), measured_costs(), piecewise_costs())


@st.composite
def sends(draw, chain, most_parts=3):
    """Any plan at all: any partition in buckets, any order, any parts."""
    count = len(chain)
    labels = draw(st.lists(st.integers(0, count - 1), min_size=count, max_size=count))
    parts: list[Launch] = []
    for label in sorted(set(labels)):
        bucket = tuple(i for i in range(count) if labels[i] == label)
        size = int(chain.bytes[list(bucket)].sum())
        cuts = draw(st.lists(st.integers(1, size - 1), unique=True, max_size=most_parts - 1))
        edges = [0, *sorted(cuts), size]
        parts += [Launch(bucket, high - low) for low, high in pairwise(edges)]
    return draw(st.permutations(parts))


@st.composite
def dags(draw, most=7) -> Graph:
    """Any DAG: collectives behind collectives, of several kinds and channels, and streams."""
    coarse = st.integers(0, 4).map(lambda n: 100.0 * n)
    streams = draw(st.sampled_from([(None,), (None, "s0"), ("s0", "s1")]))
    channels = draw(st.sampled_from([(NETWORK,), (NETWORK, "nvlink")]))
    kinds = draw(st.sampled_from([(ALL_REDUCE,), COLLECTIVES]))
    sending = draw(st.lists(st.booleans(), min_size=2, max_size=2 * most))
    sending[0] = False
    sending[-1] |= not any(sending)
    ops: list[Op] = []
    for i, sends in enumerate(sending):
        names = [op.id for op in ops]
        after = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []
        if sends and sum(op.kind != COMPUTE for op in ops) < most:
            kind, channel = draw(st.sampled_from(kinds)), draw(st.sampled_from(channels))
            size = draw(st.integers(1, 6)) * 100_000
            ops.append(Op(f"g{i}", kind, None, size, tuple(after), channel))
        else:
            stream = draw(st.sampled_from(streams))
            ops.append(Op(f"c{i}", COMPUTE, draw(coarse), None, tuple(after), stream=stream))
    return build("drawn", draw(st.permutations(ops)) if streams == (None,) else ops)


@st.composite
def networks(draw, slowdowns=(1.0,)) -> Network:
    """A cost for each channel, the same for all kinds, and one of the slowdowns."""
    found = {NETWORK: draw(costs()), "nvlink": draw(costs())}
    return Network(lambda lane: found[lane.channel], draw(st.sampled_from(slowdowns)))
