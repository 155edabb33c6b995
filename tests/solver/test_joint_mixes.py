"""Plans of mixes against rules, bounds, and every shift on a grid by an own simulator."""

import random

import pytest

from solver.jobs.blame import blames_of, p95, use_of_links
from solver.jobs.bounds import mean_bound, worst_bound
from solver.jobs.estimate import estimated_slowdowns
from solver.jobs.joint import plan_mix
from solver.jobs.mix import JobTerms, Mix, MixedJob
from solver.jobs.policies import RULES, cassini_shifts, crux_priorities
from solver.jobs.profile import Phase, profile_of_phases
from solver.jobs.simulate import simulate_mix, slowdowns_of
from tests.benchmarks.jobs_sharing import best_on_grid, drawn_mix, mix_of

UNIT = 0.008


def two(compute: float, size: float) -> Mix:
    links = {"up": 100 * UNIT}
    profile = profile_of_phases([Phase(compute, size, ("up",))], links)
    return Mix(tuple(links.items()), tuple(MixedJob(name, (profile,)) for name in "xy"))


@pytest.mark.parametrize("seed", range(6))
def test_plans_are_within_a_hundredth_of_the_best_shift_and_never_worse_than_a_rule(
    seed: int,
) -> None:
    jobs, capacity = drawn_mix(seed)
    mix = mix_of(jobs, capacity)
    plan = plan_mix(mix, 12)
    exact = best_on_grid(jobs, capacity, 8)
    assert plan.joint.mean <= 1.01 * exact
    assert all(plan.joint.mean <= rule.mean + 1e-9 for rule in plan.rules)
    if plan.joint.run.pattern_us is not None:
        assert plan.joint.mean >= plan.mean_bound * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_no_pattern_is_faster_than_its_bounds(seed: int) -> None:
    jobs, capacity = drawn_mix(seed)
    mix = mix_of(jobs, capacity)
    rng = random.Random(seed)
    terms = [JobTerms(rng.random() * job.alone_us, rng.choice((0, 0, 1))) for job in mix.jobs]
    run = simulate_mix(mix, terms, 20)
    if run.pattern_us is None or run.is_cut:
        return
    slow = slowdowns_of(mix, run)
    assert max(slow) >= worst_bound(mix) * (1 - 1e-6)
    assert sum(slow) / len(slow) >= mean_bound(mix) * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_mean_bound_is_the_least_on_a_grid(seed: int) -> None:
    rng = random.Random(seed)
    links = {"up": 100 * UNIT}
    jobs = []
    for k in range(2):
        phases = [Phase(float(rng.randint(1, 100)), 100.0 * rng.randint(20, 200), ("up",))]
        jobs.append(MixedJob(str(k), (profile_of_phases(phases, links),), rng.choice((1.0, 3.0))))
    mix = Mix(tuple(links.items()), tuple(jobs))
    loads = [job.profiles[0].bytes_on()["up"] / 100 / job.alone_us for job in jobs]
    weights = [job.weight for job in jobs]
    steps = [1 + k / 400 for k in range(1600)]
    best = min(
        (
            (weights[0] * s + weights[1] * max(1.0, loads[1] / (1 - loads[0] / s))) / sum(weights)
            for s in steps
            if loads[0] < s
        ),
    )
    assert mean_bound(mix) == pytest.approx(best, rel=0.01)
    assert mean_bound(mix) <= best * (1 + 1e-9)


def test_two_jobs_that_collide_do_not_after_planning() -> None:
    mix = two(250_000.0, 28_000_000.0)  # 250 ms of compute, 280 ms of sending
    plan = plan_mix(mix)
    assert plan.rules[0].run.means == pytest.approx((810_000, 810_000))
    assert plan.joint.run.means == pytest.approx((560_000, 560_000))
    assert (plan.mean_bound, plan.worst_bound) == pytest.approx((560 / 530, 560 / 530))


def test_cassini_parts_halves() -> None:
    terms = cassini_shifts(two(100.0, 10_000.0))
    assert [own.offset_us for own in terms] == pytest.approx([0.0, 100.0])


def test_crux_serves_the_intense_first() -> None:
    links = {"up": 100 * UNIT}
    profiles = [profile_of_phases([Phase(c, 10_000.0, ("up",))], links) for c in (50.0, 200.0)]
    jobs = tuple(MixedJob(str(k), (each,)) for k, each in enumerate(profiles))
    assert [own.priority for own in crux_priorities(Mix((("up", 0.8),), jobs))] == [0, 1]
    jobs = (MixedJob("0", (profiles[0],), gpus=8), jobs[1])
    assert [own.priority for own in crux_priorities(Mix((("up", 0.8),), jobs))] == [1, 0]


def test_blames_add_up_to_what_a_job_takes_longer() -> None:
    jobs, capacity = drawn_mix(3)
    mix = mix_of(jobs, capacity)
    terms = RULES["fair"](mix)
    run = simulate_mix(mix, terms, 12)
    for job, mean in zip(mix.jobs, run.means, strict=True):
        own = [each.delay_us for each in blames_of(mix, terms, run) if each.job == job.name]
        assert sum(own) == pytest.approx(mean - job.alone_us, abs=1e-6)


def test_use_of_a_link_by_hand() -> None:
    mix = two(100.0, 10_000.0)
    run = simulate_mix(mix, RULES["fair"](mix), is_traced=True)
    assert use_of_links(mix, run, 3)["up"] == pytest.approx((0.0, 1.0, 1.0))


def test_a_percentile_is_one_of_the_times() -> None:
    assert p95((3.0, 1.0, 2.0)) == 3.0
    assert p95(tuple(map(float, range(1, 101)))) == 95.0


def test_a_job_alone_is_estimated_as_it_is() -> None:
    mix = two(100.0, 10_000.0)
    assert estimated_slowdowns(Mix(mix.links, mix.jobs[:1])) == (1.0,)
    assert estimated_slowdowns(mix) == pytest.approx((1.25, 1.25))  # half of the time, half of it


def test_another_plan_is_taken_where_it_is_better() -> None:
    links = {"up": 100 * UNIT}
    own = profile_of_phases([Phase(100.0, 20_000.0, ("up",))], links)
    less = profile_of_phases([Phase(150.0, 5_000.0, ("up",))], links)
    mix = Mix(tuple(links.items()), (MixedJob("x", (own, less)), MixedJob("y", (own,))))
    plan = plan_mix(mix)
    assert plan.joint.terms[0].profile == 1
    assert plan.joint.mean >= plan.mean_bound * (1 - 1e-9)


def test_links_without_classes_get_a_plan_without() -> None:
    jobs, capacity = [[(100, 10_000)], [(130, 10_000)]], 100  # at 200 and 230: no shift lasts
    mix = mix_of(jobs, capacity)
    classed, plain = plan_mix(mix, 12), plan_mix(mix, 12, has_classes=False)
    assert {own.priority for own in classed.joint.terms} == {0, 1}
    for ruled in (plain.joint, *plain.rules):
        assert {own.priority for own in ruled.terms} == {0}
    assert [ruled.rule for ruled in plain.rules] == ["fair", "cassini"]
    assert classed.joint.mean <= plain.joint.mean <= plain.rules[0].mean


def test_same_mix_same_plan() -> None:
    jobs, capacity = drawn_mix(1)
    mix = mix_of(jobs, capacity)
    assert plan_mix(mix, 6, 60) == plan_mix(mix, 6, 60)


def test_the_grid_search_by_hand() -> None:
    # halves: the best shift on a grid of eight is the half
    jobs = [[(100, 10_000)], [(100, 10_000)]]
    assert best_on_grid(jobs, 100, 8) == pytest.approx(1, rel=3e-3)  # it is nudged, too
