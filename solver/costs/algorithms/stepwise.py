"""Algorithms of equal steps between all workers: ring, doubling, tree, in-network reduction.

T = startup + n negotiation + steps hop + passes S/(share B) + reductions S/G, with n workers, S
bytes of the whole tensor, bandwidth B, of which a transport reaches a share, and speed of adding G
(MODEL.md section 2). Each algorithm has its own steps, passes and reductions.
"""

from typing import NamedTuple

from solver.costs.cluster import Cluster, missing_fields
from solver.costs.functions.affine import Affine
from solver.errors import InvalidCluster
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE_SCATTER,
    SEND_RECV,
)
from solver.units import bytes_per_us


class Effort(NamedTuple):
    """What a worker does in one collective.

    ``steps`` one after another; ``passes``, how often the whole tensor's bytes go over its link;
    ``reductions``, how often it adds them.
    """

    steps: int
    passes: float
    reductions: float = 0.0


def stepwise(cluster: Cluster, effort: Effort) -> Affine:
    """Cost of so many steps, passes and reductions on a cluster.

    Raises
    ------
    InvalidCluster
        When no bandwidth is given.
    """
    if cluster.bandwidth_gbps is None:
        raise InvalidCluster(missing_fields(cluster, "bandwidth_gbps"))
    per_byte = effort.passes / bytes_per_us(cluster.bandwidth_gbps * cluster.line_rate_share)
    if cluster.reduction_gbps is not None:
        per_byte += effort.reductions / bytes_per_us(cluster.reduction_gbps)
    fixed = cluster.startup_us + cluster.negotiation_us_per_worker * cluster.workers
    return Affine(fixed + effort.steps * cluster.hop_us, per_byte)


def ring_effort(workers: int, kind: str) -> Effort:
    """Return what a worker does on a ring; all-reduce is PACE (1), OSF (7).

    All-reduce is a reduce-scatter, which adds, and an all-gather; a broadcast goes round in a
    pipeline, so that every byte passes every worker. A send goes once from one to another.
    """
    share = (workers - 1) / workers
    return {
        ALL_REDUCE: Effort(2 * (workers - 1), 2 * (workers - 1) / workers, share),
        ALL_GATHER: Effort(workers - 1, share),
        REDUCE_SCATTER: Effort(workers - 1, share, share),
        BROADCAST: Effort(workers - 1, 1.0),
        ALL_TO_ALL: Effort(workers - 1, share),
        SEND_RECV: Effort(1, 1.0),
    }[kind]


def ring(cluster: Cluster, kind: str) -> Affine:
    """Each worker passes an n-th of the bytes on to the next, n-1 or 2(n-1) times."""
    return stepwise(cluster, ring_effort(cluster.workers, kind))


def recursive_doubling(cluster: Cluster, kind: str) -> Affine:
    """Pairs at distance 1, 2, 4, ... exchange and add everything: log2 n steps.

    When n is no power of two, p' = 2^k < n workers do so; each other one first sends everything to
    one of them and gets the sum at last: two steps more, one of which adds.
    """
    power, k = _power(cluster.workers)
    if cluster.workers == power:
        return stepwise(cluster, Effort(k, k, k))
    return stepwise(cluster, Effort(k + 2, k + 2, k + 1))


def halving_doubling(cluster: Cluster, kind: str) -> Affine:
    """Pairs at distance 1, 2, 4, ... exchange halves, quarters, ... and then gather them again.

    Rabenseifner's algorithm. When n is no power of two, p' = 2^k < n workers do so; before it the
    others exchange halves with one of them, add, and hand theirs over; they get the sum at last.
    """
    power, k = _power(cluster.workers)
    share = (power - 1) / power
    if cluster.workers == power:
        return stepwise(cluster, Effort(2 * k, 2 * share, share))
    return stepwise(cluster, Effort(2 * k + 3, 4 - 2 / power, 1.5 - 1 / power))


def double_binary_tree(cluster: Cluster, kind: str) -> Affine:
    """Two trees, each for half of the bytes, reduce in a pipeline and then broadcast."""
    return stepwise(cluster, Effort(2 * (cluster.workers - 1).bit_length(), 2.0, 1.0))


def in_network(cluster: Cluster, kind: str) -> Affine:
    """Switches add: each worker sends and receives everything at once."""
    return stepwise(cluster, Effort(2, 1.0))


def _power(workers: int) -> tuple[int, int]:
    """Return the largest power of two that is not above the workers, and its exponent."""
    k = workers.bit_length() - 1
    return 1 << k, k
