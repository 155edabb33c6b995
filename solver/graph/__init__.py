"""The training iteration as a graph, its links, and the same with fewer ops."""

from solver.graph.buffers import Buffer
from solver.graph.graph import Graph, build, first_of, has_barrier, linked, with_barrier
from solver.graph.op import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    COLLECTIVES,
    COMPUTE,
    KINDS,
    NETWORK,
    REDUCE_SCATTER,
    SEND_RECV,
    Op,
)
from solver.graph.recorded import RecordedStep

__all__ = [
    "ALL_GATHER",
    "ALL_REDUCE",
    "ALL_TO_ALL",
    "BROADCAST",
    "COLLECTIVES",
    "COMPUTE",
    "KINDS",
    "NETWORK",
    "REDUCE_SCATTER",
    "SEND_RECV",
    "Buffer",
    "Graph",
    "Op",
    "RecordedStep",
    "build",
    "first_of",
    "has_barrier",
    "linked",
    "with_barrier",
]
