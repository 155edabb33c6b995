"""What a compiled graph computes and communicates, and the memory that it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from interlace_client.torch.compiled.capture_collectives import CapturedCollective


class Uncapturable(ValueError):
    """A graph that cannot be written as ops and buffers; the message has every reason."""


@dataclass
class Memory:
    """A buffer under construction: who writes it, and who reads it after that."""

    id: str
    bytes: int
    kept: bool
    writer: str | None
    last_writer: str | None = None
    readers: list[str] = field(default_factory=list)
    since: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TimedNode:
    """A node that takes time.

    Attributes
    ----------
    node
        The node; its name is the op's id.
    after
        Names of the calls that it comes after, in the order of the graph.
    reads, writes
        Bytes that it reads and writes of each buffer, by the buffer's id.
    collective
        What it communicates; None of compute.
    bytes
        Size of a collective [bytes], of the whole tensor; 0 of compute.
    """

    node: torch.fx.Node
    after: tuple[str, ...]
    reads: dict[str, int]
    writes: dict[str, int]
    collective: CapturedCollective | None = None
    bytes: int = 0

    @property
    def name(self) -> str:
        """Name of the node."""
        return str(self.node.name)


@dataclass(frozen=True)
class Calls:
    """A graph as calls and memory.

    Attributes
    ----------
    calls
        In the order of the graph.
    buffers
        In the order in which they begin.
    notes
        What was assumed, a sentence each.
    """

    calls: tuple[TimedNode, ...]
    buffers: tuple[Memory, ...]
    notes: tuple[str, ...]
