"""Planned programs as files of other tools."""

from typing import Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from app.schemas.schedules import RecomputedBody
from app.services.program_problems import CheckedProgram, program_problem, recomputing
from solver.codes import FaultCode
from solver.errors import Fault, InvalidPlan
from solver.exports.explicit_plan import Export
from solver.exports.programs import PROGRAM_EXPORTS, chrome
from solver.programs.explicit import NamedBucket, ProgramStep, explicit_program
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program


class _AnsweredBucket(BaseModel):
    id: str
    tensors: list[str]


class _Step(BaseModel):
    do: str
    id: str


class _Memory(BaseModel):
    limit_bytes: int | None = None


class _Answer(BaseModel):
    """What of an answer makes its program."""

    buckets: list[_AnsweredBucket]
    program: list[_Step]
    memory: _Memory = Field(default_factory=_Memory)
    recomputed: RecomputedBody | None = None


class ToldProgram(NamedTuple):
    """The program of an answer.

    Attributes
    ----------
    as_given
        What was asked.
    problem
        The same; where ops run twice in the program, of the graph in which they do.
    program
        Of that problem.
    """

    as_given: ProgramProblem
    problem: ProgramProblem
    program: Program


def exported_program(problem: CheckedProgram, answer: Any, form: str) -> Export:
    """Write a program in a format of :data:`solver.exports.programs.PROGRAM_EXPORTS`.

    Parameters
    ----------
    problem
        What was planned or simulated.
    answer
        As ``POST /v1/plans`` or ``POST /v1/simulations`` gives it.
    form
        The format.

    Raises
    ------
    InvalidPlan
        When it is no program of that graph, or the format has no form for this one.
    """
    told = program_of(problem, answer)
    if told.problem is not told.as_given and form != chrome.FORMAT:
        raise InvalidPlan([_runs_twice(form)])
    return PROGRAM_EXPORTS[form](told.problem, told.program)


def _runs_twice(form: str) -> Fault:
    """Say that a format carries no second runs, and what to do."""
    detail = (
        f"Ops of this program run twice, which {form} does not carry. Recompute them in the model "
        "(torch.utils.checkpoint, or jax.checkpoint, around the ops that recomputed.ops names), "
        "capture its graph again, and plan that without recompute."
    )
    return Fault("/recomputed/ops", FaultCode.NOT_SUPPORTED, detail)


def program_of(problem: CheckedProgram, answer: Any) -> ToldProgram:
    """Read the program of an answer, and what it was planned for.

    Raises
    ------
    InvalidPlan
        When it is no program of that graph.
    """
    try:
        told = _Answer.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"/{step}" for step in first["loc"])
        detail = f"This is no program as plan --json prints it: at {place}, {first['msg']}."
        raise InvalidPlan([Fault("", FaultCode.WRONG_TYPE, detail)]) from None
    given = program_problem(problem, told.memory.limit_bytes)
    twice = told.recomputed
    asked = recomputing(given, twice) if twice is not None and twice.ops else given
    buckets = [NamedBucket(each.id, tuple(each.tensors)) for each in told.buckets]
    # what else is done there is refused with the other faults of the program
    steps = [ProgramStep(each.do, each.id) for each in told.program]  # type: ignore[arg-type]
    return ToldProgram(given, asked, explicit_program(asked, buckets, steps))


def not_of_a_program(form: str) -> Fault:
    """Say that a format is written of other plans."""
    known = ", ".join(PROGRAM_EXPORTS)
    detail = f"{form} is not written of a program, which has an order of compute; {known} are."
    return Fault("/program", FaultCode.NOT_SUPPORTED, detail)


def only_of_programs(form: str) -> Fault:
    """Say that a format is written of programs alone."""
    detail = (
        f"{form} is written of programs only: plan a graph with a stream of free order, buffers or "
        "collectives that are not cut, such as a compiled graph."
    )
    return Fault("", FaultCode.NOT_SUPPORTED, detail)


def program_of_chain() -> Fault:
    """Say that a program is not of a graph whose order is given."""
    detail = (
        "This plan is a program, and the graph has nothing that is planned as one: no stream of "
        "free order, no buffers, no collective that is not cut."
    )
    return Fault("/program", FaultCode.NOT_SUPPORTED, detail)
