"""How many bytes the tensors of a timeline have: from the file, else from names that were given."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from solver.graph import REDUCE_SCATTER
from solver.traces.horovod.launches import KINDS, TensorLaunch
from solver.traces.horovod.layers import matched


class Sizes(NamedTuple):
    """Bytes by tensor, and where they are from.

    Attributes
    ----------
    bytes
        By name, of those that are known.
    supplied
        How many are not in the timeline and were taken from what was given beside it.
    differing
        How many are in both and differ.
    varying
        How many have other bytes in one launch of the timeline than in another.
    """

    bytes: dict[str, int]
    supplied: int
    differing: int
    varying: int = 0


def tensor_sizes(
    launches: Iterable[TensorLaunch], workers: int | None, known: Mapping[str, int]
) -> Sizes:
    """Return the bytes of tensors: what the timeline says, else what is known by name.

    Horovod writes type and shape of a result where the operation ends. That of a reduce-scatter
    is a worker's share of the whole.

    Parameters
    ----------
    launches
        All of the file: a tensor has the size that the first has which has any.
    workers
        That share a reduce-scatter.
    known
        Bytes by name, as :func:`solver.traces.horovod.layers.matched` finds tensors.
    """
    found: dict[str, int] = {}
    tensors: dict[str, None] = {}
    varying: set[str] = set()
    for launch in launches:
        kind = KINDS.get(launch.operation)
        if kind is None:
            continue
        tensors[launch.tensor] = None
        parts = workers if kind == REDUCE_SCATTER else 1
        if launch.bytes and parts:
            size = launch.bytes * parts
            if found.setdefault(launch.tensor, size) != size:
                varying.add(launch.tensor)
    supplied = differing = 0
    for tensor, name in matched(tensors, known).items():
        supplied += tensor not in found
        differing += found.setdefault(tensor, known[name]) != known[name]
    return Sizes(found, supplied, differing, len(varying))
