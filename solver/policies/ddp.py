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
#: PyTorch's caps where the user gives none [MiB].
_CAP_MB, _FIRST_MB = 25.0, 1.0


def ddp(
    chain: Chain,
    costs: Sequence[Cost],
    *,
    bucket_cap_mb: float | None = None,
    first_bucket_mb: float | None = None,
) -> Sequence[Rule]:
    """Fill buckets in release order and send them strictly in that order, never interrupted.

    A tensor joins the open bucket, which closes when its bytes reach the cap, so it may exceed
    it. Without a cap of the user the first bucket has a smaller one, to start early; a cap that
    is given holds for the first bucket too. A bucket goes when all its tensors are released.

    Parameters
    ----------
    chain, costs
        The tensors and what a launch costs.
    bucket_cap_mb
        Bytes at which a bucket closes [MiB]; None for 25.
    first_bucket_mb
        Bytes at which the first bucket closes [MiB]; None for ``bucket_cap_mb`` where that is
        given, else 1.

    Notes
    -----
    PyTorch fills buckets in the reverse order of registration until it has seen one backward
    pass, and from then on in the order of release, which is simulated here.

    References
    ----------
    .. [1] S. Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training,
           VLDB 2020, Section 3.2.
    .. [2] PyTorch, torch/nn/parallel/distributed.py and csrc/distributed/c10d/reducer.cpp:
           ``bucket_cap_mb`` 25 and ``kDefaultFirstBucketBytes`` 1 MiB, the latter only where no
           ``bucket_cap_mb`` is given (``bucket_bytes_cap_default``).
    """
    # A bucket is never released before an earlier one: they are runs of the release order.
    buckets = _buckets(chain, *caps(bucket_cap_mb, first_bucket_mb))
    return queues(whole_units(buckets, chain), first_in_first_out, chain)


def ddp_priority(
    chain: Chain,
    costs: Sequence[Cost],
    *,
    bucket_cap_mb: float | None = None,
    first_bucket_mb: float | None = None,
) -> Sequence[Rule]:
    """Fill buckets as PyTorch DDP does; the most urgent released one goes, never interrupted.

    Most urgent is the largest tail; ties go to the later release, then to position. No framework
    of today does it: it is the strongest simple rival of a plan.

    Parameters
    ----------
    chain, costs
        The tensors and what a launch costs.
    bucket_cap_mb, first_bucket_mb
        Bytes at which a bucket and the first one close [MiB], as in :func:`ddp`.

    See Also
    --------
    ddp : The same buckets in the order in which they are filled.
    """
    units = whole_units(_buckets(chain, *caps(bucket_cap_mb, first_bucket_mb)), chain)
    return queues(units, most_urgent(units, chain), chain)


def caps(bucket_cap_mb: float | None, first_bucket_mb: float | None) -> tuple[float, float]:
    """Return the caps of all buckets and of the first one, as PyTorch chooses them [MiB]."""
    if first_bucket_mb is None:
        first_bucket_mb = _FIRST_MB if bucket_cap_mb is None else bucket_cap_mb
    return _CAP_MB if bucket_cap_mb is None else bucket_cap_mb, first_bucket_mb


def _buckets(chain: Chain, cap_mb: float, first_mb: float) -> list[list[int]]:
    """Fill buckets, each up to the tensor with which its bytes reach the cap."""
    cap, first_cap = cap_mb * _MIB, first_mb * _MIB
    filled: set[int] = set()  # lanes whose first bucket is closed

    def joins(bucket: list[int], held: int, tensor: int) -> bool:
        lane = chain.lane[tensor]
        room = held < (cap if lane in filled else first_cap)
        if not room:
            filled.add(lane)
        return room

    return group_tensors(chain, joins)
