"""What a reader returns: the graph, and what it did to get there."""

from dataclasses import dataclass

from solver.graph import Graph


@dataclass(frozen=True, slots=True)
class Report:
    """What was read, left out and assumed.

    Attributes
    ----------
    format
        Name of the format.
    ops
        Ops of the graph.
    collectives
        How many all-reduces, and their bytes.
    dropped
        One sentence for each thing left out.
    assumed
        One sentence for each thing that the file does not say.
    """

    format: str
    ops: int
    collectives: int
    bytes: int
    dropped: tuple[str, ...]
    assumed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A graph read from a file, with the report."""

    graph: Graph
    report: Report
