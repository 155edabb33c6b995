"""Orders of little memory, against every order of small graphs."""

from itertools import permutations

import pytest

from solver.programs.check import program_faults
from solver.programs.execute import execute
from solver.programs.plan import plan
from solver.programs.policies.least_memory import least_memory, least_memory_within
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep, Program
from tests.programs.small import small
from tests.sampling import cases


def peaks(problem):
    """Yield the peak of each order of the ops, collectives waited for at once [bytes]."""
    graph = problem.graph
    places = {i: b for b, i in enumerate(graph.collectives)}
    for order in permutations(range(len(graph.ops))):
        at = {i: k for k, i in enumerate(order)}
        if any(at[j] > at[i] for i in order for j in graph.preds[i]):
            continue
        steps = []
        for i in order:
            is_sent = i in places
            steps += [HostStep(LAUNCH, places[i]), HostStep(WAIT, places[i])] if is_sent else []
            steps += [] if is_sent else [HostStep(COMPUTE, i)]
        program = Program(tuple((i,) for i in graph.collectives), tuple(steps))
        yield execute(problem, program).peak_bytes


@pytest.mark.parametrize("seed", range(cases(300, 30)))
def test_the_least_memory_of_all_orders_is_found_and_no_less(seed):
    problem = small(seed, 6, 2, memory=False)
    least = min(peaks(problem))
    found = least_memory_within(problem, least)
    assert list(program_faults(problem, found)) == []
    assert execute(problem, found).peak_bytes == least
    assert least_memory_within(problem, least - 1) is None
    assert execute(problem, least_memory(problem)).peak_bytes >= least


@pytest.mark.parametrize("seed", range(cases(300, 30)))
def test_a_limit_that_some_order_keeps_is_kept(seed):
    problem = small(seed)
    most = problem.limits.memory_bytes
    found = least_memory_within(problem, most)
    assert list(program_faults(problem, found)) == []
    assert execute(problem, found).peak_bytes <= most


def test_it_goes_back_where_the_first_way_does_not_fit():
    """Of 40 larger graphs the greedy order needs more on most, and never less."""
    saved = 0
    for seed in range(40):
        problem = small(seed, 40, 12, memory=False)
        peak = execute(problem, least_memory(problem)).peak_bytes
        found = least_memory_within(problem, peak - 1)
        if found is not None:
            assert execute(problem, found).peak_bytes < peak
            saved += 1
    assert saved > 20


def test_what_takes_no_time_holds_nothing():
    """Its last op takes no time and writes what is kept: 88 bytes are there only when all ends."""
    problem = small(1259)
    assert problem.limits.memory_bytes == 77
    assert plan(problem).run.peak_bytes <= 77
