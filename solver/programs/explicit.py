"""A program given by names, as an answer states it: checked, and turned into positions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidPlan
from solver.graph import first_of
from solver.programs.check import program_faults
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, PACK, UNPACK, WAIT, Do, HostStep, Program


class NamedBucket(NamedTuple):
    """A bucket by its id and its collectives' ids."""

    id: str
    tensors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One thing that the host asks for.

    Attributes
    ----------
    do
        What it is.
    id
        An op for ``compute``, else a bucket.
    """

    do: Do
    id: str


def explicit_program(
    problem: ProgramProblem, buckets: Sequence[NamedBucket], steps: Sequence[ProgramStep]
) -> Program:
    """Read a program of a graph.

    Raises
    ------
    InvalidPlan
        With every fault, at ``/buckets`` or ``/program``: names that are unknown or repeated, and
        where these are right what :func:`solver.programs.check.program_faults` finds.

    Notes
    -----
    O(ops + steps + edges).
    """
    ops = {op.id: i for i, op in enumerate(problem.graph.ops)}
    places = {bucket.id: b for b, bucket in enumerate(buckets)}
    if faults := first_of(_name_faults(ops, places, buckets, steps)):
        raise InvalidPlan(faults)
    program = Program(
        tuple(tuple(sorted(ops[name] for name in bucket.tensors)) for bucket in buckets),
        tuple(
            HostStep(each.do, ops[each.id] if each.do == COMPUTE else places[each.id])
            for each in steps
        ),
    )
    if faults := first_of(program_faults(problem, program)):
        raise InvalidPlan(faults)
    return program


def _name_faults(
    ops: Mapping[str, int],
    places: Mapping[str, int],
    buckets: Sequence[NamedBucket],
    steps: Sequence[ProgramStep],
) -> Iterator[Fault]:
    for b, bucket in enumerate(buckets):
        if places[bucket.id] != b:
            detail = f"Bucket id {bucket.id!r} is taken."
            yield Fault(f"/buckets/{b}/id", FaultCode.DUPLICATE_ID, detail)
        for t, name in enumerate(bucket.tensors):
            if name not in ops:
                detail = f"Bucket {bucket.id!r}: the graph has no collective {name!r}."
                yield Fault(f"/buckets/{b}/tensors/{t}", FaultCode.UNKNOWN_OP, detail)
    for at, step in enumerate(steps):
        do, name = step.do, step.id
        if do not in {COMPUTE, PACK, LAUNCH, WAIT, UNPACK}:
            detail = f"A program has no {do!r}; it has compute, pack, launch, wait and unpack."
            yield Fault(f"/program/{at}/do", FaultCode.OUT_OF_RANGE, detail)
        elif name not in (ops if do == COMPUTE else places):
            sort = "op of the graph" if do == COMPUTE else "bucket"
            detail = f"{do} {name!r}: there is no such {sort}."
            yield Fault(f"/program/{at}/id", FaultCode.UNKNOWN_OP, detail)
