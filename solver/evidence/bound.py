"""The proven lower bound of an answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """Why no plan is faster, whatever its fusion, partition and orders; of a program, no program.

    ``kind`` is one of :data:`solver.bounds.kinds.BOUND_KINDS`, which says what ``tensors`` (of a
    program, ops), ``release_us`` and ``tail_us`` are in it; None where they say nothing.
    """

    kind: str
    value_us: float
    tensors: tuple[str, ...] = ()
    release_us: float | None = None
    tail_us: float | None = None
