"""Programs of a graph with some ops changed."""

import pytest

from solver.programs.check import program_faults
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies import POLICIES
from solver.programs.replanned import changed_graph, with_changes
from solver.simulation.compression import Compression
from solver.simulation.what_if import Change
from tests.programs.small import small
from tests.sampling import cases


@pytest.mark.parametrize("seed", range(cases(60)))
def test_compressed_collectives_have_a_program(seed: int) -> None:
    """All that code is on the one stream; what is found is a program, and above its bound."""
    problem = small(seed, memory=False)
    changes = [Change("*", compression=Compression(0.5, 0.25, 0.125))]
    options = ProgramOptions(time_limit_s=60.0)
    changed = with_changes(plan(problem, options), changes, options)
    graph = changed.problem.graph
    sent = [op for op in problem.graph.ops if op.bytes]
    coding = [op for op in graph.ops if op.id.startswith(("encode:", "decode:"))]
    assert len(coding) == 2 * len(sent)
    assert {op.stream for op in coding} == {"s"}
    took = sum(op.duration_us or 0.0 for op in coding)
    assert took == pytest.approx(sum(op.bytes or 0 for op in sent) * 0.375)
    assert not list(program_faults(changed.problem, changed.program))
    time = execute(changed.problem, changed.program).iteration_time
    assert time == changed.run.iteration_time >= changed.bound.value_us * (1 - 1e-9)
    assert time >= sum(graph.durations) * (1 - 1e-9), "one stream does all of it"
    for policy in POLICIES.values():
        assert not list(program_faults(changed.problem, policy(changed.problem)))


def test_ops_that_are_gone_stay_on_the_stream() -> None:
    graph = small(3, memory=False).graph
    names = [op.id for op in graph.ops if op.bytes]
    after = changed_graph(graph, [Change(names[0], remove=True)])
    assert {op.stream for op in after.ops if op.bytes is None} == {"s"}
    assert [op.id for op in after.ops] == [op.id for op in graph.ops]
