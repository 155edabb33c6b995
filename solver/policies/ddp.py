"""PyTorch DistributedDataParallel: buckets of bounded size, filled in release order."""

from collections.abc import Sequence

from solver.chain import Chain
from solver.costs import Cost
from solver.simulation.engine import Rule
from solver.simulation.rules import (
    first_in_first_out,
    group_tensors,
    most_urgent,
    queues,
    whole_units,
)

_MIB = 2**20


def ddp(
    chain: Chain,
    costs: Sequence[Cost],
    *,
    bucket_cap_mb: float = 25.0,
    first_bucket_mb: float = 1.0,
) -> Sequence[Rule]:
    """Fill buckets in release order and send them strictly in that order, never interrupted.

    A tensor joins the open bucket, which closes when its bytes reach the cap, so it may exceed
    it. The first bucket has a smaller cap, to start early. A bucket goes when all its tensors are
    released.

    Parameters
    ----------
    chain, costs
        The tensors and what a launch costs.
    bucket_cap_mb
        Bytes at which a bucket closes [MiB].
    first_bucket_mb
        Bytes at which the first bucket closes [MiB].

    Notes
    -----
    PyTorch fills buckets in the reverse order of registration until it has seen one backward
    pass, and from then on in the order of release, which is simulated here.

    References
    ----------
    .. [1] S. Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training,
           VLDB 2020, Section 3.2.
    .. [2] PyTorch, torch/nn/parallel/distributed.py and csrc/distributed/c10d/reducer.cpp:
           ``bucket_cap_mb`` 25 and ``kDefaultFirstBucketBytes`` 1 MiB.
    """
    # A bucket is never released before an earlier one: they are runs of the release order.
    buckets = _buckets(chain, first_bucket_mb * _MIB, bucket_cap_mb * _MIB)
    return queues(whole_units(buckets, chain), first_in_first_out, chain)


def ddp_priority(
    chain: Chain,
    costs: Sequence[Cost],
    *,
    bucket_cap_mb: float = 25.0,
    first_bucket_mb: float = 1.0,
) -> Sequence[Rule]:
    """Fill buckets as PyTorch DDP does; the most urgent released one goes, never interrupted.

    Most urgent is the largest tail; ties go to the later release, then to position. No framework
    of today does it: it is the strongest simple rival of a plan.

    Parameters
    ----------
    chain, costs
        The tensors and what a launch costs.
    bucket_cap_mb
        Bytes at which a bucket closes [MiB].
    first_bucket_mb
        Bytes at which the first bucket closes [MiB].

    See Also
    --------
    ddp : The same buckets in the order in which they are filled.
    """
    units = whole_units(_buckets(chain, first_bucket_mb * _MIB, bucket_cap_mb * _MIB), chain)
    return queues(units, most_urgent(units, chain), chain)


def _buckets(chain: Chain, first_cap: float, cap: float) -> list[list[int]]:
    """Fill buckets, each up to the tensor with which its bytes reach the cap."""
    filled: set[int] = set()  # lanes whose first bucket is closed

    def joins(bucket: list[int], held: int, tensor: int) -> bool:
        lane = chain.lane[tensor]
        room = held < (cap if lane in filled else first_cap)
        if not room:
            filled.add(lane)
        return room

    return group_tensors(chain, joins)
