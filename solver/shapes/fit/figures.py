"""A figure of a machine with what is known of it."""

from dataclasses import dataclass

from solver.shapes.efficiency import FIGURES, SPREAD, Efficiencies


@dataclass(frozen=True, slots=True)
class FittedFigure:
    """A figure as the rows tell it.

    Attributes
    ----------
    name
        Field of :class:`Efficiencies`.
    value
        Its most probable value.
    spread
        Standard deviation of its logarithm: 0.1 is some 10 %.
    is_determined
        Whether the rows halved the spread that is assumed; else the value is an assumption.
    """

    name: str
    value: float
    spread: float
    is_determined: bool


def assumed_figures(known: Efficiencies, stated: frozenset[str]) -> tuple[FittedFigure, ...]:
    """Return figures that no row tells: those stated, and the others as assumed."""
    return tuple(
        FittedFigure(
            name, getattr(known, name), 0.0 if name in stated else SPREAD[name], name in stated
        )
        for name in FIGURES
    )
