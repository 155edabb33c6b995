"""What a number of a placement may be, and the fault where it is not that."""

import math
from collections.abc import Iterator

from solver.codes import FaultCode
from solver.errors import Fault


def whole(pointer: str, name: str, value: int, most: int) -> Iterator[Fault]:
    """Find whether a count lies in 1..``most``."""
    if not 1 <= value <= most:
        detail = f"{name} must be 1 to {most:,}, got {value!r}."
        yield Fault(pointer, FaultCode.OUT_OF_RANGE, detail)


def real(
    pointer: str, name: str, value: float, most: float = 1e12, *, zero: bool = False
) -> Iterator[Fault]:
    """Find whether a number is finite, positive (or ``zero``) and ``most`` at most."""
    fits = math.isfinite(value) and (value > 0 or (zero and value == 0)) and value <= most
    if not fits:
        rule = f"0 to {most:g}" if zero else f"positive and {most:g} at most"
        detail = f"{name} must be {rule}, got {value!r}."
        yield Fault(pointer, FaultCode.OUT_OF_RANGE, detail)
