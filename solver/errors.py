"""The error tree: one class per situation, each carrying every fault found at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from solver.codes import Code


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input.

    Attributes
    ----------
    pointer
        JSON pointer (RFC 6901) to the place, relative to the object that was checked.
    code
        Which rule was broken, such as ``cycle``; a stable word.
    detail
        Sentence that names the thing and the rule.
    """

    pointer: str
    code: Code
    detail: str


class InterlaceError(Exception):
    """Anything Interlace refuses to do, with all its reasons."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.detail for fault in self.faults))

    def __reduce__(self) -> tuple[type["InterlaceError"], tuple[tuple[Fault, ...]]]:
        """Keep the faults on the way from one process to another."""
        return type(self), (self.faults,)


class InvalidGraph(InterlaceError):
    """The ops do not form a graph that can be planned."""


class InvalidSteps(InterlaceError):
    """The ops do not form training steps through parameter servers."""


class InvalidCluster(InterlaceError):
    """The cluster gives no usable cost of a collective."""


class InvalidOptions(InterlaceError):
    """The options cannot be met for this graph."""


class InvalidTrace(InterlaceError):
    """A file is not a readable trace of its format."""


class InvalidPlan(InterlaceError):
    """A plan that was given does not send a graph's collectives."""


class InvalidMeasurements(InterlaceError):
    """Measured times are not readable, or no cost can be fitted to them."""
