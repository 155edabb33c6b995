"""One recorded step, as the ops of a graph."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from solver.graph import Op


class Span(Protocol):
    """Something that ran [us]."""

    @property
    def start(self) -> float:
        """When it began."""

    @property
    def end(self) -> float:
        """When it ended."""


class StepOps(NamedTuple):
    """A step.

    Attributes
    ----------
    ops
        Of the graph; collectives without bytes are not among them.
    measured
        Id and recorded time [us] of each collective, by start.
    unsized
        Names of the collectives without bytes.
    """

    ops: tuple[Op, ...]
    measured: tuple[tuple[str, float], ...]
    unsized: tuple[str, ...] = ()


def length_of(spans: Sequence[Span]) -> float:
    """Return the time from the start of the first to the end of the last [us]; given by start."""
    return max(span.end for span in spans) - spans[0].start


def numbered(name: str, seen: dict[str, int]) -> str:
    """Return an id for what has a name, the first time the name itself; ``seen`` is counted on."""
    seen[name] = seen.get(name, 0) + 1
    return name if seen[name] == 1 else f"{name} #{seen[name]}"
