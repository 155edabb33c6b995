"""Robust programs: never worse at their measure than the program without or any rule.

The oracle draws and simulates one stream by itself.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from app.services.program_answers import _behind
from solver.errors import InvalidOptions
from solver.evidence.draws import draws_of
from solver.evidence.robustness import Robustness, RobustOptions
from solver.limits import MAX_ROBUST_DRAWS
from solver.programs.check import program_faults
from solver.programs.drawn_times import drawn_times
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies import POLICIES
from solver.programs.problem import copies_of, launch_time
from solver.programs.robust import COMPUTE_JITTER, LAUNCH_JITTER, faster_rule
from solver.simulation.factors import lognormal
from solver.units import slack
from tests.programs.drawn import drawn
from tests.programs.small import small
from tests.programs.test_policies import LAYERS, of_ops
from tests.sampling import cases


def test_many_draws_at_once_are_executed_one_by_one():
    for seed in range(cases(150)):
        rng = random.Random(seed)
        problem = drawn(rng, 15, 6, is_free=rng.random() < 0.5)
        made = random.Random(seed).choice(list(POLICIES.values()))(problem)
        durations = np.array(problem.graph.durations)[:, None] * np.ones(2)

        def launched(members, problem=problem):
            return np.full(2, launch_time(problem, members))

        times = drawn_times(problem, made, durations, launched)
        assert times == pytest.approx([execute(problem, made).iteration_time] * 2), seed


def own_time(problem, program, doubt, compute, sent):
    """One stream, and channels that take their launches in turn."""
    ops, now = problem.graph.ops, 0.0
    free: dict[str, float] = {}
    end: dict[int, float] = {}
    for do, what in program.steps:
        if do == "compute":
            now += (ops[what].duration_us or 0.0) * doubt.compute * compute[what]
            continue
        members = program.buckets[what]
        op = ops[members[0]]
        if do == "launch":
            cost = problem.network.cost(type("Lane", (), {"channel": op.channel, "kind": op.kind}))
            size = sum(ops[i].bytes for i in members)
            took = cost.startup * doubt.startup + cost.per_byte * size / doubt.bandwidth
            begin = max(now, free.get(op.channel, 0.0))
            end[what] = free[op.channel] = begin + took * doubt.launches * sent[members[0]]
        elif do == "wait":
            now = max(now, end[what])
        else:
            copies = copies_of(problem, members)
            now += copies.pack_us if do == "pack" else copies.unpack_us
    return max([now, *free.values()])


@pytest.mark.parametrize("measure", ["mean", "p95"])
@pytest.mark.parametrize("seed", range(cases(40, 4)))
def test_never_worse_than_the_program_without_or_any_rule(measure, seed):
    problem = small(seed, ops=7, collectives=3)
    options = RobustOptions(measure, 8, seed)
    found = plan(problem, ProgramOptions(robust=options))
    robust = found.robust
    assert list(program_faults(problem, found.program)) == []
    assert found.run == execute(problem, found.program)
    most = problem.limits.memory_bytes
    assert found.run.peak_bytes <= most
    assert robust.plan_us <= robust.without_us + slack(robust.without_us)
    kept = {
        name
        for name, make in POLICIES.items()
        if execute(problem, make(problem)).peak_bytes <= most
    }
    assert {rival.policy for rival in robust.rivals} == kept
    values = {rival.policy: rival.value_us for rival in robust.rivals}
    assert all(robust.plan_us <= value + slack(value) for value in values.values())

    count = len(problem.graph.ops)
    times = []
    for k, doubt in enumerate(draws_of(8, seed)):
        draw = np.random.Generator(np.random.PCG64([seed, k]))
        compute = lognormal(draw, COMPUTE_JITTER, count)
        times.append(
            own_time(problem, found.program, doubt, compute, lognormal(draw, LAUNCH_JITTER, count))
        )
    own = np.mean(times) if measure == "mean" else np.quantile(times, 0.95)
    assert robust.plan_us == pytest.approx(own)


def test_the_same_question_has_the_same_answer():
    options = ProgramOptions(robust=RobustOptions("mean", 3))
    one, other = (plan(drawn(random.Random(5), 20, 8), options) for _ in range(2))
    assert one.program == other.program
    assert one.robust == other.robust


def test_a_rule_is_ahead_where_it_is_faster_with_slow_launches():
    problem = of_ops(*LAYERS)
    in_order, ahead = (POLICIES[name](problem) for name in ("in_order", "simple_overlap"))
    # 100 us of compute twice, launches of 130: 460 in order, 130 + 130 + 100 beside compute
    found = faster_rule(problem, in_order, {"simple_overlap": ahead})
    assert found is not None
    assert found.policy == "simple_overlap"
    assert (found.time_us, found.program_us) == pytest.approx((360.0, 460.0))
    assert faster_rule(problem, ahead, {"in_order": in_order}) is None
    assert faster_rule(problem, ahead, {}) is None


@pytest.mark.parametrize("measure", [None, "mean", "p95"])
def test_a_warning_does_not_ask_for_what_was_asked(measure):
    planned = plan(of_ops(*LAYERS))
    slow = POLICIES["in_order"](planned.problem)
    robust = None if measure is None else Robustness(measure, 3, 0, 1.0, 1.0, (), None)
    (said,) = _behind(replace(planned, program=slow, robust=robust))
    own = "robust chooses by such times, too."
    if measure is not None:
        own = f"the {measure} over the draws of robust came first."
    assert said.detail.endswith(f"and this program 0.460 ms; {own}")


@pytest.mark.parametrize(
    ("robust", "pointer"),
    [
        (RobustOptions("median"), "/robust/measure"),  # type: ignore[arg-type]
        (RobustOptions(draws=0), "/robust/draws"),
        (RobustOptions(draws=MAX_ROBUST_DRAWS + 1), "/robust/draws"),
        (RobustOptions(seed=-1), "/robust/seed"),
    ],
)
def test_rejected(robust, pointer):
    with pytest.raises(InvalidOptions) as error:
        plan(of_ops(*LAYERS), ProgramOptions(robust=robust))
    assert [fault.pointer for fault in error.value.faults] == [pointer]
