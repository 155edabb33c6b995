"""Orders of little memory, against every order of small graphs."""

from itertools import permutations

import pytest

from solver.costs import alike
from solver.costs.functions.affine import Affine
from solver.graph import Buffer, Op, build
from solver.programs.bounds import surely_live
from solver.programs.bounds.surely_live import memory_bound
from solver.programs.check import program_faults
from solver.programs.execute import execute
from solver.programs.plan import plan
from solver.programs.policies.in_order import in_order
from solver.programs.policies.least_memory import least_memory, least_memory_within, least_peak
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep, Program
from tests.programs.exact import every_run
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


def drawn(seed):
    """Draw a problem without a limit; of every other one launches hold inputs to their end."""
    return small(
        seed, 4 + seed % 2, 1 + seed % 2, memory=False, inputs_held=("wait", "launch")[seed % 2]
    )


@pytest.mark.parametrize("seed", range(cases(200, 24)))
def test_every_program_takes_what_the_bound_says(seed):
    """Of each program, listed and run, with whatever buckets."""
    problem = drawn(seed)
    least = min(run.peak_bytes for run in every_run(problem))
    bound = memory_bound(problem)
    assert bound <= least
    found = least_peak(problem, bound - 1, execute(problem, in_order(problem)).peak_bytes)
    assert bound <= least <= found


def test_the_bound_of_memory_is_often_reached_and_more_is_caught(monkeypatch):
    """A mutation: what an op reads is held by everything that comes before it, too."""
    seeds = range(24)
    leasts = [min(run.peak_bytes for run in every_run(drawn(seed))) for seed in seeds]
    bounds = [memory_bound(drawn(seed)) for seed in seeds]
    assert sum(map(int.__eq__, leasts, bounds)) > 16
    own = surely_live.surely_live
    monkeypatch.setattr(
        surely_live, "surely_live", lambda problem, after: own(problem, after | after.T)
    )
    assert any(memory_bound(drawn(seed)) > leasts[seed] for seed in seeds)


def test_the_order_of_the_graph_is_left_only_where_it_does_not_fit():
    """On paper: an op that writes 8, then 31 chains that each read 4, write 5, then keep 1.

    In order all inputs, 124, and the 8 are held at once. Behind one chain, that takes 129 and frees
    3, it is 121 and the 8; then the rest is as the graph has it.
    """
    ops, buffers = [Op("first", "compute", 1.0, stream="s")], [Buffer("of first", 8, "first", ())]
    for k in range(31):
        ops += [
            Op(f"a{k}", "compute", 1.0, stream="s"),
            Op(f"b{k}", "compute", 1.0, None, (f"a{k}",), stream="s"),
        ]
        buffers += [
            Buffer(f"input {k}", 4, None, (f"a{k}",)),
            Buffer(f"of a{k}", 5, f"a{k}", (f"b{k}",)),
            Buffer(f"of b{k}", 1, f"b{k}", (), kept=True),
        ]
    ops.append(Op("sent", "all_reduce", None, 4, ("b30",), "n", cut=False))
    problem = ProgramProblem(build("chains", ops, buffers, ["s"]), alike(Affine(1.0, 0.0)))
    assert execute(problem, in_order(problem)).peak_bytes == 31 * 4 + 8
    found = least_memory_within(problem, 131)
    assert found is not None
    assert execute(problem, found).peak_bytes <= 131
    assert [step.id for step in found.steps][:4] == [1, 2, 0, 3]
