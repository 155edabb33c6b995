"""What a program gains over the compiler's schedule, under the same limits and the same doubts."""

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.evidence.doubts import DOUBTS, doubted_graph, doubted_network
from solver.graph import COMPUTE, build
from solver.programs.execute import execute
from solver.programs.headline import program_comparison, program_headline
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies import POLICIES, program_of
from solver.programs.policies.inductor import inductor
from solver.programs.problem import ProgramLimits
from solver.programs.xla.form import default_form, fastest_form
from solver.units import slack
from tests.programs.drawn import drawn
from tests.programs.shared import FOLDER, PYTORCH, load
from tests.programs.small import small
from tests.sampling import cases

OPTIONS = ProgramOptions(baselines=(), time_limit_s=0.2)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=cases(10), deadline=None)
def test_the_gain_is_over_inductor_in_its_own_problem(seed):
    problem = small(seed, memory=False)
    planned = plan(problem, OPTIONS)
    compared = program_comparison(planned)
    (gain,) = compared.headline.gains
    theirs = inductor(problem)
    ran = execute(problem, theirs)
    assert (gain.over, gain.barrier, gain.today_us) == ("inductor", None, ran.iteration_time)
    assert gain.plan_us == planned.run.iteration_time
    assert (gain.today_peak_bytes, gain.plan_peak_bytes) == (ran.peak_bytes, planned.run.peak_bytes)
    others, rows = [], []
    for doubt in DOUBTS:
        costs = doubted_network(problem.network, doubt)
        other = replace(problem, graph=doubted_graph(problem.graph, doubt), network=costs)
        today, ours = (execute(other, each).iteration_time for each in (theirs, planned.program))
        rows.append((today, ours))
        if today:
            others.append(1 - ours / today)
    assert [(row.today_us, row.plan_us) for row in compared.off_calibration] == rows
    assert gain.gain_low == pytest.approx(min(gain.gain, *others))
    assert gain.gain_high == pytest.approx(max(gain.gain, *others))
    if gain.verdict == "nothing":
        assert gain.lower_bound_us >= gain.today_us * 0.98 - slack(gain.today_us)


def test_a_rule_makes_its_program_once():
    problem = small(3, memory=False)
    assert program_of("inductor", problem) is program_of("inductor", problem)
    assert program_of("in_order", problem) == POLICIES["in_order"](problem)


def test_names_of_xla_are_compared_with_its_scheduler():
    problem = small(5, memory=False)
    sent = [problem.graph.ops[i].id for i in problem.graph.collectives]
    names = {name: f"all-reduce.{i}" for i, name in enumerate(sent)}

    def renamed(name):
        return names.get(name, name)

    ops = [
        op._replace(id=renamed(op.id), after=tuple(map(renamed, op.after)))
        for op in problem.graph.ops
    ]
    graph = build("xla", ops, (), problem.graph.free)
    planned = plan(replace(problem, graph=graph), OPTIONS)
    (gain,) = program_headline(planned).gains
    theirs = POLICIES["xla_lhs"](planned.problem)
    assert (gain.over, gain.runtime) == ("xla_lhs", "XLA: interlace export --format xla")
    assert gain.today_us == execute(planned.problem, theirs).iteration_time
    assert (gain.today_peak_bytes, gain.plan_peak_bytes) == (None, None)  # no buffers


def of_xla(problem):
    """Return a problem as XLA's text would be read; all it sends are all-to-alls."""
    ops = [
        op._replace(stream="xla")
        if op.stream
        else op._replace(kind=op.kind if op.kind == COMPUTE else "all_to_all")
        for op in problem.graph.ops
    ]
    graph = build("xla", ops, problem.graph.buffers, ("xla",))
    return replace(problem, graph=graph)


@pytest.mark.parametrize(
    ("seed", "is_reached"), [(77, False), (1, True)], ids=["unreachable", "reached"]
)
def test_of_a_program_of_xla_the_form_counts(seed, is_reached):
    problem = of_xla(drawn(random.Random(seed), 10, 10))
    planned = plan(problem, ProgramOptions(baselines=()))
    (gain,) = program_headline(planned).gains
    form, default = fastest_form(problem, planned.program), default_form(problem)
    assert gain.today_us == default.run.iteration_time
    assert form.run.iteration_time <= default.run.iteration_time
    if is_reached:
        assert gain.verdict != "unreachable"
        assert gain.plan_us == form.run.iteration_time
    else:
        assert (gain.verdict, gain.plan_us) == ("unreachable", planned.run.iteration_time)
        assert f"XLA takes {form.run.iteration_time / 1e3:,.3f} ms" in gain.why


def test_memory_is_said_where_it_differs():
    above, more = set(), set()
    for seed in (2, 3, 23):
        problem = small(seed)
        planned = plan(problem, OPTIONS)
        (gain,) = program_headline(planned).gains
        assert gain.plan_peak_bytes <= problem.limits.memory_bytes
        if gain.today_peak_bytes > problem.limits.memory_bytes:
            above.add(gain.why.endswith("inductor itself takes more memory than the limit."))
        roomy = replace(problem, limits=ProgramLimits())
        (gain,) = program_headline(plan(roomy, OPTIONS)).gains
        if gain.plan_peak_bytes > gain.today_peak_bytes:
            more.add(
                re.search(r" It takes [0-9,.]+ .?i?B more than inductor\.$", gain.why) is not None
            )
    assert above == more == {True}


@pytest.mark.skipif(not FOLDER.exists(), reason="needs shared/data")
def test_the_strongest_result_is_a_gain():
    problem = load("llama3_8b_bw_64_2d")
    planned = plan(problem, ProgramOptions(baselines=("inductor",), time_limit_s=1))
    (gain,) = program_headline(planned).gains
    assert gain.today_us / 1e3 == pytest.approx(PYTORCH["llama3_8b_bw_64_2d"][0], rel=0.005)
    assert gain.gain > 0.1
    assert gain.verdict == "worth_it"
