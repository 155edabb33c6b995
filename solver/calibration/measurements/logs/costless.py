"""Logs that hold no time of a launch: what they are good for is said in place of a cost."""

from typing import NoReturn

from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements


def refuse(what: str, instead: str) -> NoReturn:
    """Say what a log holds, that no cost can be fitted to it, and what to do instead.

    Raises
    ------
    InvalidMeasurements
        Always; its code is ``no_cost``.
    """
    detail = f"{what} It has no time of a launch, so no cost can be fitted to it. {instead}"
    raise InvalidMeasurements([Fault("", FaultCode.NO_COST, detail)])
