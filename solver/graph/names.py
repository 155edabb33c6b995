"""What ids say: the parameter whose gradient is sent, the unit that is sharded, the host's line."""

import re

from solver.graph.graph import Graph
from solver.graph.op import ALL_GATHER, REDUCE_SCATTER

#: What an id of a gradient begins with in graphs that are made of layers.
GRADIENT = "grad:"

#: What the ids of the collectives of a unit begin with (:func:`solver.models.parallel.fsdp`).
GATHER, REGATHER, SCATTER = "gather:", "regather:", "scatter:"
UNIT_KINDS = {GATHER: ALL_GATHER, REGATHER: ALL_GATHER, SCATTER: REDUCE_SCATTER}

#: The stream of what the host does between its launches, in graphs of recorded steps.
HOST = "host"

#: The compute stream of a program of XLA, in graphs that are read from its text.
OF_XLA = "xla"

#: The stream of Horovod's cycles, in graphs of recorded steps: what no plan moves.
NEGOTIATION = "negotiate"

#: What PyTorch calls a parameter: names of modules and its own, joined by points.
_PATH = re.compile(r"\w+(\.\w+)*")


def is_parameter(tensor: str) -> bool:
    """Tell whether an id names a parameter: by its form, or as a path of words."""
    return tensor.startswith(GRADIENT) or _PATH.fullmatch(tensor) is not None


def is_of_units(graph: Graph) -> bool:
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
