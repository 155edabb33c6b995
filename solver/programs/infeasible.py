"""Limits of memory that no program keeps, as far as that is known."""

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.programs.bounds.surely_live import memory_bound
from solver.programs.policies.least_memory import least_peak
from solver.programs.problem import ProgramProblem
from solver.wording import memory_size


def refuse_impossible(problem: ProgramProblem, least: int) -> None:
    """Refuse at once a limit below what every program takes.

    Parameters
    ----------
    least
        What some program takes [bytes]: where that keeps the limit nothing else is looked at.

    Raises
    ------
    InvalidOptions
        When no program keeps the limit for sure.
    """
    most = problem.limits.memory_bytes
    if most is not None and least > most and _needed(problem) > most:
        raise no_program(problem, most, least)


def no_program(problem: ProgramProblem, most: int, least: int) -> InvalidOptions:
    """Say that no program was found within a limit, the least found, and what every one takes.

    Parameters
    ----------
    most
        The limit [bytes].
    least
        What some program takes [bytes]; less is looked for.
    """
    needed, known = _needed(problem), _known(problem)
    if "found" not in known:
        known["found"] = least_peak(problem, needed - 1, least)
    least = min(least, known["found"])
    detail = (
        f"No program was found that takes at most {_size(most)}; the least found takes "
        f"{_size(least)}, and every program takes at least {_size(needed)}."
    )
    return InvalidOptions([Fault("/memory_limit_bytes", FaultCode.INFEASIBLE, detail)])


def _known(problem: ProgramProblem) -> dict[str, int]:
    """Return what is known of the least memory, the same within all limits of a front [bytes]."""
    known: dict[str, int] = problem.memo.setdefault("least memory", {})
    return known


def _needed(problem: ProgramProblem) -> int:
    known = _known(problem)
    if "needed" not in known:
        known["needed"] = memory_bound(problem)
    return known["needed"]


def _size(count: int) -> str:
    return f"{count:,} bytes ({memory_size(count)})"
