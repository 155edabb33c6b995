"""PyTorch DistributedDataParallel: buckets of bounded size, filled in release order."""

from solver.chain import Chain
from solver.costs import Cost
from solver.policies.rules import Queue, first_in_first_out, most_urgent, whole
from solver.simulate import Rule

_MIB = 2**20


def ddp(
    chain: Chain, cost: Cost, *, bucket_cap_mb: float = 25.0, first_bucket_mb: float = 1.0
) -> Rule:
    """Fill buckets in release order and send them strictly in that order, never interrupted.

    A tensor joins the open bucket, which closes when its bytes reach the cap, so it may exceed
    it. The first bucket has a smaller cap, to start early. A bucket goes when all its tensors are
    released.

    Parameters
    ----------
    chain, cost
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
    return Queue(whole(buckets, chain), first_in_first_out)


def ddp_priority(
    chain: Chain, cost: Cost, *, bucket_cap_mb: float = 25.0, first_bucket_mb: float = 1.0
) -> Rule:
    """Fill buckets as PyTorch DDP does; the most urgent released one goes, never interrupted.

    Most urgent is the largest tail; ties go to the later release, then to position. No framework
    of today does it: it is the strongest simple rival of a plan.

    Parameters
    ----------
    chain, cost
        The tensors and what a launch costs.
    bucket_cap_mb
        Bytes at which a bucket closes [MiB].
    first_bucket_mb
        Bytes at which the first bucket closes [MiB].

    See Also
    --------
    ddp : The same buckets in the order in which they are filled.
    """
    units = whole(_buckets(chain, first_bucket_mb * _MIB, bucket_cap_mb * _MIB), chain)
    return Queue(units, most_urgent(units, chain))


def _buckets(chain: Chain, first_cap: float, cap: float) -> list[list[int]]:
    """Cut the chain in runs, each up to the tensor with which its bytes reach the cap."""
    buckets: list[list[int]] = [[]]
    held = 0
    for tensor, size in enumerate(chain.bytes.tolist()):
        if held >= (first_cap if len(buckets) == 1 else cap):
            buckets.append([])
            held = 0
        buckets[-1].append(tensor)
        held += size
    return buckets
