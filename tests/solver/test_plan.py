"""Whole plans: checked by definition, ordered against each other, reproducible."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds.status import OPTIMAL
from solver.costs import Affine, alike
from solver.errors import InvalidOptions
from solver.fusion.layered import FUSIONS
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.limits import MAX_SLOTS
from solver.planning.check import InfeasiblePlan, check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.choice import Choice
from solver.schedule import SCHEDULERS
from solver.simulation.what_if import Change, apply_changes
from solver.units import same, slack
from tests.sampling import cases
from tests.solver.test_simulate import RING, TWO_LAYERS
from tests.strategies import affine_costs, costs, graphs

ALL = tuple(Choice(policy) for policy in POLICIES)


@pytest.mark.parametrize("schedule", SCHEDULERS)
@pytest.mark.parametrize("fusion", FUSIONS)
@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(150))
def test_every_plan_is_feasible_and_its_numbers_are_their_definitions(
    fusion, schedule, graph, cost
):
    answer = plan(graph, alike(cost), Options(fusion, schedule, baselines=ALL))
    time = answer.iteration_time_us
    assert check(graph, alike(cost), answer) == pytest.approx(time)
    assert answer.lower_bound_us <= time + slack(time)
    assert answer.exposed_us == pytest.approx(time - answer.compute_time_us)
    if answer.gap is not None:
        assert answer.gap == pytest.approx(time / answer.lower_bound_us - 1, abs=1e-6)
    assert (answer.status == OPTIMAL) == same(time, answer.bound.value_us)
    proof = answer.proof
    if proof.critical_buckets:
        terms = (proof.release_us, proof.work_us, proof.tail_us)
        assert sum(term or 0.0 for term in terms) == pytest.approx(answer.ideal_us)
    else:
        assert answer.ideal_us == answer.compute_time_us
    for other in answer.baselines:
        assert answer.lower_bound_us <= other.iteration_time_us + slack(time)


@pytest.mark.parametrize("schedule", SCHEDULERS)
@given(graph=graphs(), cost=costs(), slot=st.sampled_from([None, 50.0, 77.0]))
@settings(max_examples=cases(150))
def test_slots_serve_every_bucket_in_time(schedule, graph, cost, slot):
    answer = plan(graph, alike(cost), Options("none", schedule, slot, ()))
    slotted = answer.slotted
    free = 0
    served: dict[str, int] = {}
    finish: dict[str, int] = {}
    for run in slotted.runs:
        bucket = next(b for b in answer.buckets if b.id == run.bucket)
        assert run.slot >= free
        assert run.slot * slotted.slot_us >= bucket.release_us - slack(bucket.release_us)
        assert run.count > 0
        free = run.slot + run.count
        served[run.bucket] = served.get(run.bucket, 0) + run.count
        finish[run.bucket] = free
    for bucket in answer.buckets:
        needed = cost.time(bucket.bytes)
        assert served.get(bucket.id, 0) * slotted.slot_us >= needed - slack(needed)
        end = finish.get(bucket.id, 0) * slotted.slot_us + bucket.tail_us
        assert end <= slotted.iteration_time_us + slack(end)
    assert free <= MAX_SLOTS
    assert slotted.iteration_time_us >= answer.ideal_us - slack(answer.ideal_us)


def test_the_example_of_the_contract():
    answer = plan(TWO_LAYERS, alike(RING), Options(fusion="none", slot_us=50.0))
    assert answer.iteration_time_us == pytest.approx(8400, abs=0.01)
    assert answer.compute_time_us == 2550
    assert answer.lower_bound_us == pytest.approx(8400)
    assert answer.ideal_us == pytest.approx(8350)
    assert answer.gap == pytest.approx(0, abs=1e-6)
    assert answer.scaling_factor == pytest.approx(2550 / 8400, abs=1e-6)
    assert answer.overlap == pytest.approx(1 - 5850 / 7150, abs=1e-6)
    assert [(run.slot, run.count, run.bucket) for run in answer.slotted.runs] == [
        (16, 18, "b0"),
        (34, 29, "b1"),
        (63, 95, "b0"),
    ]
    assert answer.slotted.iteration_time_us == 8350
    assert answer.proof.critical_buckets == ("b0", "b1")
    assert (answer.proof.release_us, answer.proof.tail_us) == (800, 450)
    assert answer.proof.work_us == pytest.approx(7100)
    fifo = answer.baselines[0]
    assert fifo.policy == "wfbp"
    assert fifo.iteration_time_us == pytest.approx(8750)
    assert fifo.speedup == pytest.approx(8750 / 8400, abs=1e-5)


@given(graph=graphs(), cost=affine_costs())
def test_twice_the_times_take_twice_as_long(graph, cost):
    ops = [
        op if op.duration_us is None else op._replace(duration_us=2 * op.duration_us)
        for op in graph.ops
    ]
    double = Affine(2 * cost.startup, 2 * cost.per_byte)
    options = Options(fusion="none", baselines=())
    once, twice = plan(graph, alike(cost), options), plan(build("2", ops), alike(double), options)
    assert twice.iteration_time_us == pytest.approx(2 * once.iteration_time_us)
    assert twice.lower_bound_us == pytest.approx(2 * once.lower_bound_us)


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(50))
def test_the_same_problem_gives_the_same_plan(graph, cost):
    options = Options(baselines=ALL)
    assert plan(graph, alike(cost), options) == plan(graph, alike(cost), options)


def test_one_worker_sends_for_free():
    answer = plan(TWO_LAYERS, alike(Affine(0.0, 0.0)), Options(schedule="lp"))
    assert answer.status == OPTIMAL
    assert answer.iteration_time_us == answer.compute_time_us
    assert answer.overlap is None
    assert answer.slotted.runs == ()


def test_an_iteration_of_no_time_has_no_ratios():
    graph = build("0", [Op("b", COMPUTE, 0.0), Op("g", ALL_REDUCE, None, 1, ("b",))])
    answer = plan(graph, alike(Affine(0.0, 0.0)), Options())
    assert answer.gap is None
    assert answer.scaling_factor is None
    assert [other.speedup for other in answer.baselines] == [None, None]


def test_a_slot_that_is_too_small_says_which_is_enough():
    with pytest.raises(InvalidOptions, match=r"slot_us 0\.1 needs 83500 slots") as caught:
        plan(TWO_LAYERS, alike(RING), Options(fusion="none", slot_us=0.1))
    fault = caught.value.faults[0]
    assert (fault.pointer, fault.code) == ("/slot_us", "slot_too_small")
    enough = float(fault.detail.rsplit("; ")[1].split()[0])
    assert plan(TWO_LAYERS, alike(RING), Options(fusion="none", slot_us=enough)).slotted.runs


@pytest.mark.parametrize("fusion", ["none", "maxmin"])
def test_a_slot_too_small_for_every_fusion_is_refused_by_lp_too(fusion):
    with pytest.raises(InvalidOptions, match="slot_us"):
        plan(TWO_LAYERS, alike(RING), Options(fusion, "lp", 0.1))


def test_a_short_bucket_does_not_make_too_many_slots():
    ops = [*TWO_LAYERS.ops, Op("tiny", ALL_REDUCE, None, 1, ("b2",))]
    answer = plan(build("tiny", ops), alike(Affine(0.0, 0.0014)), Options(fusion="none"))
    assert answer.slotted.slot_us > 0.0014
    assert max(run.slot + run.count for run in answer.slotted.runs) <= MAX_SLOTS


def test_unknown_names_are_refused_together():
    with pytest.raises(InvalidOptions) as caught:
        plan(TWO_LAYERS, alike(RING), Options("all", "random", None, (Choice("wfbp"), Choice("x"))))
    assert [fault.pointer for fault in caught.value.faults] == [
        "/fusion",
        "/schedule",
        "/baselines/1",
    ]


def _part(answer, i, **changes):
    parts = [replace(p, **changes) if j == i else p for j, p in enumerate(answer.parts)]
    return replace(answer, parts=tuple(parts))


def _bucket(answer, i, **changes):
    buckets = [replace(b, **changes) if j == i else b for j, b in enumerate(answer.buckets)]
    return replace(answer, buckets=tuple(buckets))


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        # a part that starts before its bucket is released
        (lambda a: _part(a, 0, start_us=700.0, end_us=1599.9988), "before its release"),
        # two parts at once
        (lambda a: _part(a, 1, start_us=1690.0, end_us=3140.0), "channel is busy"),
        # a part faster than its bytes allow
        (lambda a: _part(a, 2, end_us=7000.0), "cost of its bytes"),
        # bytes lost, and bytes skipped
        (lambda a: _part(a, 2, bytes=3_392_857), "its parts carry"),
        (lambda a: _part(a, 2, offset_bytes=0), "does not follow"),
        # buckets that are not what they say
        (lambda a: _bucket(a, 0, tensors=("g1",)), "not a partition"),
        (lambda a: _bucket(a, 0, bytes=5), "not the sum"),
        (lambda a: _bucket(a, 0, channel="nvlink"), "of another kind or channel"),
        (lambda a: _bucket(a, 0, release_us=5.0), "release is"),
    ],
)
def test_check_finds_what_was_tampered_with(tamper, message):
    answer = plan(TWO_LAYERS, alike(RING), Options(fusion="none"))
    with pytest.raises(InfeasiblePlan, match=message):
        check(TWO_LAYERS, alike(RING), tamper(answer))


@pytest.mark.parametrize("barrier", [False, True])
def test_a_graph_that_is_left_without_collectives_takes_its_compute_time(barrier):
    left = apply_changes(TWO_LAYERS, [Change("g?", remove=True)])
    answer = plan(left, alike(RING), Options(barrier=barrier, baselines=()))
    assert (answer.iteration_time_us, answer.status, answer.parts) == (2550, OPTIMAL, ())
