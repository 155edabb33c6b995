"""One recorded step, as the ops of a graph."""

from typing import NamedTuple

from solver.graph import Op


class StepOps(NamedTuple):
    """A step.

    Attributes
    ----------
    ops
        Of the graph.
    measured
        Id and recorded time [us] of each collective of known bytes, by start.
    unsized
        Name, kind and recorded time [us] of each collective without bytes.
    """

    ops: tuple[Op, ...]
    measured: tuple[tuple[str, float], ...]
    unsized: tuple[tuple[str, str, float], ...] = ()


def numbered(name: str, seen: dict[str, int]) -> str:
    """Return an id for what has a name, the first time the name itself; ``seen`` is counted on."""
    seen[name] = seen.get(name, 0) + 1
    return name if seen[name] == 1 else f"{name} #{seen[name]}"
