"""A module of HLO: instructions in computations, one of which is run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from solver.traces.hlo.shapes import Shape

_NAME = re.compile(r"[\w.\-<>]+")

#: Where in nested tuples an array is.
Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HloInstruction:
    """One instruction.

    Attributes
    ----------
    line
        Where it is written, from 1.
    name, opcode
        As written, the name without ``%``.
    shape
        Of its result.
    operands
        Names of instructions of its computation.
    attributes, plain
        What stands behind the operands, as written and with its texts in quotes left empty.
    number
        Of a parameter; None of all else.
    """

    line: int
    name: str
    opcode: str
    shape: Shape
    operands: tuple[str, ...]
    attributes: str
    plain: str
    number: int | None = None

    def attribute(self, name: str) -> str | None:
        """Return the word after ``name=``, or what its braces hold; None without it."""
        if f"{name}=" not in self.plain:
            return None
        found = re.search(rf"(?:^|[,\s]){name}=(?:\{{([^}}]*)\}}|%?([^,\s]+))", self.plain)
        return None if found is None else found[1] if found[1] is not None else found[2]

    def calls(self) -> tuple[str, ...]:
        """Name the computations that it runs."""
        names = (self.attribute(key) for key in ("calls", "to_apply", "body"))
        return tuple(name.removeprefix("%") for name in names if name)

    def branches(self) -> tuple[str, ...]:
        """Name the computations of which a conditional runs one."""
        listed = self.attribute("branch_computations")
        if listed is not None:
            return tuple(_NAME.findall(listed))
        pair = (self.attribute(f"{key}_computation") for key in ("true", "false"))
        return tuple(name for name in pair if name)

    def after(self) -> tuple[str, ...]:
        """Name the instructions that it waits for without reading them."""
        return tuple(_NAME.findall(self.attribute("control-predecessors") or ""))


@dataclass(frozen=True, slots=True)
class HloComputation:
    """Instructions in the order of the text, by name, and which of them is the result."""

    name: str
    instructions: Mapping[str, HloInstruction]
    root: str


@dataclass(frozen=True, slots=True)
class HloModule:
    """A program.

    Attributes
    ----------
    computations
        By name.
    entry
        The one that is run.
    devices
        Partitions times replicas, as the head says; None where it does not.
    aliases
        For each result that is written over an input: where it is in the result, the number of the
        parameter, where it is in that.
    donors
        Inputs that may be written over: number of the parameter, where in it.
    """

    computations: Mapping[str, HloComputation]
    entry: HloComputation
    devices: int | None
    aliases: tuple[tuple[Index, int, Index], ...]
    donors: tuple[tuple[int, Index], ...]
