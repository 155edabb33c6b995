"""What a plan needs to be run, as far as the kinds and names of a graph's collectives tell."""

from solver.chain import chain_of
from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, Graph
from solver.graph.names import GATHER, REGATHER, SCATTER, UNIT_KINDS, is_parameter

_DDP = "PyTorch: interlace export --format ddp"
_PLANNED = "PyTorch: interlace_client.torch.PlannedDDP"
_NAMES = ", given parameter names"
#: Of units that are sharded: FSDP2.
FSDP = "PyTorch: interlace export --format fsdp"
_IN_ORDER = "the plan's order of launches"
_FREE = "a runtime such as ByteScheduler"


def runtime_of(graph: Graph, *, barrier: bool) -> str:
    """Name what can run a plan of a graph.

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
            return _DDP + names
        return _FREE if len(chain.channels) > 1 else _PLANNED + names
    if not barrier:
        return _FREE
    return FSDP if _is_of_units(graph) else _IN_ORDER


def _is_of_units(graph: Graph) -> bool:
    """Tell whether each unit has a gather and a reduce-scatter, and nothing else is sharded."""
    units: dict[str, set[str]] = {GATHER: set(), REGATHER: set(), SCATTER: set()}
    for op in (graph.ops[i] for i in graph.collectives):
        prefix, colon, name = op.id.partition(":")
        if UNIT_KINDS.get(prefix + colon) == op.kind:
            units[prefix + colon].add(name)
        elif op.kind in {ALL_GATHER, REDUCE_SCATTER}:
            return False
    gathered, again, scattered = units.values()
    return bool(gathered) and gathered == scattered and again <= gathered
