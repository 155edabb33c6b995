"""What a plan needs to be run, as far as the kinds and names of a graph's collectives tell."""

from typing import NamedTuple

from solver.chain import chain_of
from solver.graph import ALL_REDUCE, Graph
from solver.graph.names import is_of_units, is_parameter

_DDP = "PyTorch: interlace export --format ddp"
_PLANNED = "PyTorch: interlace_client.torch.PlannedDDP"
_NAMES = ", given parameter names"
#: Of units that are sharded: FSDP2.
FSDP = "PyTorch: interlace export --format fsdp"
_IN_ORDER = "the plan's order of launches"

#: Why nothing that people run sends each tensor as soon as it is needed.
_FREE = (
    "It needs a runtime that holds each parameter until its own bucket is there, such as "
    "ByteScheduler; PyTorch has one for all-reduces on one channel alone."
)


class Runtime(NamedTuple):
    """What a plan needs to be run; either is None.

    Attributes
    ----------
    name
        What runs it; None where nothing does that people run.
    why_not
        Why nothing does, a sentence.
    """

    name: str | None = None
    why_not: str | None = None


def runtime_of(graph: Graph, *, barrier: bool) -> Runtime:
    """Name what can run a plan of a graph, or say why nothing that people run can.

    Without a barrier the client's ``PlannedDDP`` where all that is sent are all-reduces on one
    channel and none comes after another. Under PyTorch's barrier an export for PyTorch that takes
    the graph: ``ddp`` where all that is sent are all-reduces and none comes after another; ``fsdp``
    where all-gathers and reduce-scatters are those of units. The first two need names of
    parameters. O(n) for n ops.
    """
    chain = chain_of(graph)
    sent = [graph.ops[i] for i in graph.collectives]
    if not chain.before and {op.kind for op in sent} == {ALL_REDUCE}:
        names = "" if all(is_parameter(op.id) for op in sent) else _NAMES
        if barrier:
            return Runtime(_DDP + names)
        if len(chain.channels) == 1:
            return Runtime(_PLANNED + names)
    if not barrier:
        return Runtime(why_not=_FREE)
    return Runtime(FSDP if is_of_units(graph) else _IN_ORDER)
