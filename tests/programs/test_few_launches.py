"""Buckets of programs that are merged within a tolerance of time, and within the memory."""

from dataclasses import replace
from math import inf

import pytest

from solver.bounds.status import FEASIBLE
from solver.costs import Affine, Network
from solver.errors import InvalidOptions
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.programs.check import memory_faults, program_faults
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan
from solver.programs.problem import ProgramLimits, ProgramProblem
from solver.programs.search.few_launches import with_few_launches
from solver.programs.search.flat import Flat
from tests.programs.small import small
from tests.sampling import cases

NO_LIMITS = ProgramLimits()
BEST = ProgramOptions(baselines=(), launch_tolerance=0)


@pytest.mark.parametrize("seed", range(cases(40, 6)))
def test_a_program_keeps_the_tolerance_and_the_memory(seed):
    memory = seed % 2 == 0
    problem = small(seed, ops=8, collectives=4, memory=memory)
    best = plan(problem, BEST)
    found = plan(problem, replace(BEST, launch_tolerance=0.1))
    assert list(program_faults(problem, found.program)) == []
    assert list(memory_faults(problem, found.run)) == []
    assert found.best_time_us == best.best_time_us == best.run.iteration_time
    assert found.run.iteration_time <= best.run.iteration_time * 1.1
    assert len(found.program.buckets) <= len(best.program.buckets)
    assert (found.status == FEASIBLE) == (best.status == FEASIBLE)
    assert memory or found.run.peak_bytes <= best.run.peak_bytes


def paper(limits=NO_LIMITS):
    """Three tensors that are ready at 10, 20 and 30 us; a launch takes 1 us and 1 us a byte."""
    ops = [Op("a", COMPUTE, 10.0, stream="s")]
    for name, before in (("x", "a"), ("y", "b"), ("z", "c")):
        ops.append(Op(name, ALL_REDUCE, None, 3, (before,)))
        ops.append(Op(chr(ord(before) + 1), COMPUTE, 10.0, None, (before,), stream="s"))
    network = Network(lambda _: Affine(1.0, 1.0))
    return ProgramProblem(build("paper", ops, (), ["s"]), network, None, limits)


def test_on_paper_two_launches_wait_for_the_third_where_it_may_take_longer():
    # apart: the last launch is 30 to 34, compute ends at 40. One of all is 30 to 40: as early.
    problem = paper()
    best = plan(problem, BEST)
    assert best.run.iteration_time == 40
    found = plan(problem, replace(BEST, launch_tolerance=0.001))
    assert (found.run.iteration_time, len(found.program.buckets)) == (40, 1)


def test_no_bucket_is_larger_than_it_may_be():
    found = plan(paper(ProgramLimits(bucket_bytes=6)), replace(BEST, launch_tolerance=0.1))
    assert sorted(map(len, found.program.buckets)) == [1, 2]


def test_what_keeps_no_limit_is_returned_as_it_is():
    problem = paper()
    program = plan(problem, BEST).program
    time = execute(problem, program).iteration_time
    assert with_few_launches(Flat(problem), program, time / 2, 1 << 40) is program
    assert with_few_launches(Flat(problem), program, inf, -1) is program


@pytest.mark.parametrize("tolerance", [-1.0, 0.2])
def test_a_tolerance_out_of_range_is_refused(tolerance):
    with pytest.raises(InvalidOptions) as raised:
        plan(paper(), replace(BEST, launch_tolerance=tolerance))
    assert [fault.pointer for fault in raised.value.faults] == ["/launch_tolerance"]
