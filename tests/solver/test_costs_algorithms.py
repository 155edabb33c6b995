"""Closed forms of the algorithms, against their messages sent one by one.

The oracle holds, for every worker and chunk, whose gradients are in it and how often. A step sends
messages at once; it takes a hop, the bytes of its busiest link and the bytes of its busiest adder.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.costs import ALGORITHMS, MEASURED, PLACEMENTS, Affine, Cluster, cost_of
from solver.errors import InvalidCluster

SIZE = 5_040 * 64  # bytes; whatever the chunks, times are compared with a tolerance
CLUSTER = Cluster(8, 10, startup_us=50, hop_us=2, reduction_gbps=20)
COMPUTED = tuple(name for name in ALGORITHMS if name not in MEASURED)
COUNTS = range(2, 20)


def tallies() -> list[dict[Any, float]]:
    """Bytes sent, received and added."""
    return [defaultdict(float) for _ in range(3)]


class Workers:
    """Workers with chunks of a tensor, and what the collective took so far [us]."""

    def __init__(self, count, chunks, link=lambda w: (w, 1250.0)):
        self.data = [[Counter({w: 1}) for _ in range(chunks)] for w in range(count)]
        self.chunk = SIZE / chunks
        self.link = link
        self.time = 50.0

    def step(self, messages, hop=2.0):
        """Messages (from, to, chunks, whether to add them) at once, full duplex."""
        sent, received, added = tallies()
        before = [list(chunks) for chunks in self.data]
        for source, target, chunks, adds in messages:
            sent[self.link(source)] += self.chunk * len(chunks)
            received[self.link(target)] += self.chunk * len(chunks)
            for c in chunks:
                if adds:
                    added[target] += self.chunk
                    self.data[target][c] = self.data[target][c] + before[source][c]
                else:
                    self.data[target][c] = before[source][c]
        busiest = max(n / link[1] for way in (sent, received) for link, n in way.items())
        self.time += hop + busiest + max(added.values(), default=0) / 2500

    def done(self):
        """Everyone has the gradients of everyone, once."""
        everyone = Counter(range(len(self.data)))
        assert all(chunk == everyone for chunks in self.data for chunk in chunks)
        return self.time


def ring_steps(ranks, chunks, *, scatter=True, gather=True):
    """Groups of chunks go round: rank i ends with group i+1 added up, then with all of them."""
    n = len(ranks)
    size = len(chunks) // n
    group = [chunks[size * i : size * (i + 1)] for i in range(n)]
    for s in range(n - 1) if scatter else ():
        yield [(ranks[i], ranks[(i + 1) % n], group[(i - s) % n], True) for i in range(n)]
    for s in range(n - 1) if gather else ():
        yield [(ranks[i], ranks[(i + 1) % n], group[(i + 1 - s) % n], False) for i in range(n)]


def ring(n):
    workers = Workers(n, n)
    for messages in ring_steps(range(n), range(n)):
        workers.step(messages)
    return workers.done()


def power_below(n):
    return max(2**k for k in range(10) if 2**k <= n)


def recursive_doubling(n):
    workers, power = Workers(n, 1), power_below(n)
    extra = [(w, w - power) for w in range(power, n)]
    if extra:
        workers.step([(w, partner, [0], True) for w, partner in extra])
    distance = 1
    while distance < power:
        workers.step([(w, w ^ distance, [0], True) for w in range(power)])
        distance *= 2
    if extra:
        workers.step([(partner, w, [0], False) for w, partner in extra])
    return workers.done()


def halving_doubling(n):
    power = power_below(n)
    workers = Workers(n, power)
    lower, upper, all_of = range(power // 2), range(power // 2, power), range(power)
    extra = [(w, w - power) for w in range(power, n)]
    if extra:
        to_partner = [(w, partner, lower, True) for w, partner in extra]
        workers.step([*to_partner, *[(partner, w, upper, True) for w, partner in extra]])
        workers.step([(w, partner, upper, False) for w, partner in extra])
    held = [all_of] * power
    history = []
    distance = power // 2
    while distance:
        history.append(list(held))
        keep = [
            h[: len(h) // 2] if w & distance == 0 else h[len(h) // 2 :] for w, h in enumerate(held)
        ]
        workers.step([(w, w ^ distance, keep[w ^ distance], True) for w in range(power)])
        held, distance = keep, distance // 2
    for distance, wider in zip((2**k for k in range(10)), reversed(history), strict=False):
        workers.step([(w, w ^ distance, held[w], False) for w in range(power)])
        held = wider
    if extra:
        workers.step([(partner, w, all_of, False) for w, partner in extra])
    return workers.done()


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("simulated", [ring, recursive_doubling, halving_doubling])
def test_step_by_step(simulated, n):
    cost = cost_of(replace(CLUSTER, workers=n, algorithm=simulated.__name__))
    assert cost.time(SIZE) == pytest.approx(simulated(n))


def hierarchical(n, g, shared):
    link = (lambda w: (w // g, 1250.0)) if shared else (lambda w: (w, 1250.0))
    workers = Workers(n, n, lambda w: (w, 25_000.0))
    nodes = [range(g * k, g * (k + 1)) for k in range(n // g)]
    for phase in ("scatter", "across", "gather"):
        workers.link = link if phase == "across" else lambda w: (w, 25_000.0)
        if phase == "across":
            share = n // g
            own = [range(share * ((i + 1) % g), share * ((i + 1) % g + 1)) for i in range(g)]
            rings = [ring_steps([node[i] for node in nodes], own[i]) for i in range(g)]
        else:
            way = {"scatter": phase == "scatter", "gather": phase == "gather"}
            rings = [ring_steps(node, range(n), **way) for node in nodes]
        for steps in zip(*rings, strict=True):
            messages = [message for step in steps for message in step]
            workers.step(messages, hop=2.0 if phase == "across" else 0.5)
    return workers.done()


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("n", "g"), [(4, 2), (8, 4), (8, 8), (6, 3), (6, 1), (12, 4), (2, 1)])
def test_nodes_step_by_step(n, g, shared):
    cost = cost_of(
        replace(
            CLUSTER,
            workers=n,
            algorithm="hierarchical",
            node_workers=g,
            node_bandwidth_gbps=200,
            node_hop_us=0.5,
            shared_nic=shared,
        )
    )
    assert cost.time(SIZE) == pytest.approx(hierarchical(n, g, shared))


def server_machines(placement, n):
    return {"ncc": [n], "cc": [0], "ncs": range(n, 2 * n), "cs": range(n)}[placement]


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_servers_message_by_message(placement, n):
    servers = server_machines(placement, n)
    sent, received, _ = tallies()
    for worker in range(n):
        for server in servers:
            if server != worker:  # what stays on a machine goes over no link
                sent[worker] += SIZE / len(servers)
                received[server] += SIZE / len(servers)
    busiest = max(*sent.values(), *received.values())  # and the pull is the mirror image
    cluster = replace(CLUSTER, workers=n, algorithm="parameter_server", placement=placement)
    assert cost_of(cluster).time(SIZE) == pytest.approx(50 + 2 * (2 + busiest / 1250))


def tree(n):
    """Parents of the binary tree in which the odd ranks are leaves, 0 the root."""
    parents = {}
    for rank in range(1, n):
        bit = rank & -rank
        up = (rank ^ bit) | (bit << 1)
        parents[rank] = up if up < n else rank ^ bit
    return parents


@pytest.mark.parametrize("n", COUNTS)
def test_two_trees_edge_by_edge(n):
    """No link and no adder has more to do than the formula says, and the busiest has all of it."""
    second = (lambda w: n - 1 - w) if n % 2 == 0 else (lambda w: (w + 1) % n)
    sent, received, added = tallies()
    depth = 0
    for label in (lambda w: w, second):
        parents = tree(n)
        for child, parent in parents.items():
            for source, target in ((label(child), label(parent)), (label(parent), label(child))):
                sent[source] += 0.5
                received[target] += 0.5
            added[label(parent)] += 0.5
        for rank in parents:
            steps, at = 0, rank
            while at:
                at, steps = parents[at], steps + 1
            depth = max(depth, steps)
    cost = cost_of(Cluster(n, 8, hop_us=1, algorithm="double_binary_tree"))
    adding = cost_of(Cluster(n, 8, reduction_gbps=8, algorithm="double_binary_tree"))
    assert isinstance(cost, Affine)
    assert isinstance(adding, Affine)
    assert cost.startup == 2 * depth
    busiest = max(*sent.values(), *received.values())
    assert busiest <= cost.per_byte * 1000 <= 2
    assert max(added.values()) <= (adding.per_byte - cost.per_byte) * 1000 + 1e-9
    if n > 3:
        assert busiest == 2
        assert max(added.values()) == 1


@pytest.mark.parametrize(
    ("fields", "time"),
    [
        # 8 workers, 1250 B/us, 1 MB, 2500 B/us of adding, 50 us a launch, 2 us a step
        (dict(algorithm="ring"), 50 + 28 + 1400 + 350),
        (dict(algorithm="recursive_doubling"), 50 + 6 + 2400 + 1200),
        (dict(algorithm="halving_doubling"), 50 + 12 + 1400 + 350),
        # 4 < 6 < 8
        (dict(algorithm="recursive_doubling", workers=6), 50 + 8 + 3200 + 1200),
        (dict(algorithm="halving_doubling", workers=6), 50 + 14 + 2800 + 500),
        (dict(algorithm="double_binary_tree"), 50 + 12 + 1600 + 400),
        (dict(algorithm="in_network"), 50 + 4 + 800),
        (dict(algorithm="parameter_server", placement="ncc"), 50 + 4 + 12_800),
        (dict(algorithm="parameter_server", placement="cc"), 50 + 4 + 11_200),
        (dict(algorithm="parameter_server", placement="ncs"), 50 + 4 + 1600),
        (dict(algorithm="parameter_server"), 50 + 4 + 1400),
        # two nodes of 4, 25,000 B/us: 2 * 3/4 MB in the node, 1/4 MB across at 312.5 B/us
        (
            dict(algorithm="hierarchical", node_workers=4, node_bandwidth_gbps=200, node_hop_us=1),
            50 + 6 + 60 + 300 + 4 + 800 + 50,
        ),
        # 8 workers agree, and 1,250 B/us become 1,000
        (dict(negotiation_us_per_worker=10), 50 + 80 + 28 + 1400 + 350),
        (dict(line_rate_share=0.8), 50 + 28 + 1750 + 350),
        # all 8 workers agree; in the node nothing is lost of the rate, across a half is
        (
            dict(
                algorithm="hierarchical",
                node_workers=4,
                node_bandwidth_gbps=200,
                node_hop_us=1,
                negotiation_us_per_worker=10,
                line_rate_share=0.5,
            ),
            50 + 80 + 6 + 60 + 300 + 4 + 1600 + 50,
        ),
    ],
)
def test_by_hand(fields, time):
    assert cost_of(replace(CLUSTER, **fields)).time(1_000_000) == pytest.approx(time)


@st.composite
def clusters(draw):
    nodes, g = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    return Cluster(
        workers=nodes * g,
        bandwidth_gbps=draw(st.sampled_from([1.0, 10.0])),
        startup_us=draw(st.sampled_from([0.0, 50.0])),
        hop_us=draw(st.sampled_from([0.0, 3.0])),
        reduction_gbps=draw(st.sampled_from([None, 40.0])),
        algorithm=draw(st.sampled_from(COMPUTED)),
        node_workers=g,
        node_bandwidth_gbps=draw(st.sampled_from([10.0, 400.0])),
        node_hop_us=draw(st.sampled_from([0.0, 1.0])),
        negotiation_us_per_worker=draw(st.sampled_from([0.0, 20.0])),
        line_rate_share=draw(st.sampled_from([1.0, 0.5])),
        shared_nic=draw(st.booleans()),
        placement=draw(st.sampled_from(PLACEMENTS)),
    )


@given(cluster=clusters(), size=st.integers(1, 10**9))
def test_laws(cluster, size):
    time = cost_of(cluster).time(size)
    b, node, g = cluster.bandwidth_gbps, cluster.node_bandwidth_gbps, cluster.reduction_gbps
    faster = replace(cluster, bandwidth_gbps=2 * b, node_bandwidth_gbps=2 * node)
    assert cost_of(faster).time(size) <= time
    slow = replace(
        cluster,
        bandwidth_gbps=b / 2,
        node_bandwidth_gbps=node / 2,
        reduction_gbps=g and g / 2,
        startup_us=2 * cluster.startup_us,
        negotiation_us_per_worker=2 * cluster.negotiation_us_per_worker,
        hop_us=2 * cluster.hop_us,
        node_hop_us=2 * cluster.node_hop_us,
    )
    assert cost_of(slow).time(size) == pytest.approx(2 * time)
    assert cost_of(replace(cluster, line_rate_share=0.25)).time(size) >= time
    assert cost_of(replace(cluster, workers=1)).time(size) == 0
    assert cost_of(cluster).time(0) == 0


@pytest.mark.parametrize("algorithm", ["ring", "recursive_doubling", "double_binary_tree"])
def test_more_workers_take_longer(algorithm):
    costs = [
        cost_of(replace(CLUSTER, workers=2**k, algorithm=algorithm)).time(SIZE) for k in range(12)
    ]
    assert all(few < many for few, many in pairwise(costs))


def test_halving_doubling_is_a_ring_with_fewer_steps():
    cost = cost_of(replace(CLUSTER, workers=64, algorithm="halving_doubling"))
    ring_cost = cost_of(replace(CLUSTER, workers=64))
    assert ring_cost.time(SIZE) - cost.time(SIZE) == pytest.approx((126 - 12) * 2)


NODES = Cluster(8, 10, algorithm="hierarchical", node_workers=4, node_bandwidth_gbps=200)


@pytest.mark.parametrize(
    ("cluster", "kind", "faults"),
    [
        *[
            # every computed algorithm needs a bandwidth
            (Cluster(8, algorithm=name), "all_reduce", [("/bandwidth_gbps", "missing_field")])
            for name in COMPUTED
            if name != "hierarchical"
        ],
        # nodes need more, and say so at once
        (
            Cluster(8, algorithm="hierarchical"),
            "all_reduce",
            [
                ("/bandwidth_gbps", "missing_field"),
                ("/node_workers", "missing_field"),
                ("/node_bandwidth_gbps", "missing_field"),
            ],
        ),
        # three nodes of 3 are not 8 workers; the other fault is told with it
        (
            replace(NODES, node_workers=3, bandwidth_gbps=None),
            "all_reduce",
            [("/bandwidth_gbps", "missing_field"), ("/node_workers", "out_of_range")],
        ),
        # more workers on a node than there are
        (replace(NODES, node_workers=16), "all_reduce", [("/node_workers", "out_of_range")]),
        # no such placement, and no bandwidth either
        (
            Cluster(8, algorithm="parameter_server", placement="here"),
            "all_reduce",
            [("/bandwidth_gbps", "missing_field"), ("/placement", "out_of_range")],
        ),
        # fitted costs without what was fitted
        (Cluster(8, algorithm="linear"), "all_reduce", [("/us_per_byte", "missing_field")]),
        (Cluster(8, algorithm="piecewise"), "all_reduce", [("/piecewise", "missing_field")]),
        *[
            # only rings and tables describe other kinds
            (Cluster(8, 10, algorithm=name), "broadcast", [("/algorithm", "not_all_reduce")])
            for name in ALGORITHMS
            if name not in {"ring", "table"}
        ],
    ],
)
def test_rejected(cluster, kind, faults):
    with pytest.raises(InvalidCluster) as caught:
        cost_of(cluster, kind)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_another_kind_is_told_what_to_do():
    with pytest.raises(InvalidCluster, match=r"give all_gather a channel of its own with a ring"):
        cost_of(NODES, "all_gather")
