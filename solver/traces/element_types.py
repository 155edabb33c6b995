"""The bytes of an element, for the readers of traces: :mod:`solver.element_types`."""

from solver.element_types import width_of

__all__ = ["width_of"]
