"""Shifts as jobs can hold them."""

import pytest

from solver.jobs.holding import hold
from solver.jobs.mix import JobTerms, Mix
from solver.jobs.policies import cassini_shifts
from solver.jobs.simulate import simulate_mix
from tests.benchmarks.jobs_sharing import drawn_mix, mix_of


def lateness(mix: Mix, terms: tuple[JobTerms, ...]) -> float:
    """Return the most by which an iteration begins after its place, as a share of its period."""
    run = simulate_mix(mix, terms, 60)
    shares = []
    for own, begins in zip(terms, run.begins, strict=True):
        assert own.period_us is not None
        late = [((begin - own.offset_us) / own.period_us) % 1 for begin in begins]
        shares += [share for share in late if 1e-5 < share < 1 - 1e-5]
    return max(shares, default=0.0)


def test_a_shift_gets_the_middle_of_its_room_by_hand() -> None:
    # each sends for 100 of 400: the second may begin 100 to 300 later, and begins 200 later
    mix = mix_of([[(300, 10_000)], [(300, 10_000)]], 100)
    held = hold(mix, (JobTerms(), JobTerms(120.0)))
    assert held is not None
    assert [own.period_us for own in held] == [400, 400]
    assert held[0].offset_us == 0
    assert held[1].offset_us == pytest.approx(200, abs=2 * 400 / 64)


def test_what_begins_late_gets_its_place_there() -> None:
    # the first sends from 50 to 250, the second would from 225 on: it has 5 to spare and is late
    mix = mix_of([[(50, 20_000)], [(255, 4_000)]], 100)
    late = (JobTerms(0.0, 0, 300.0), JobTerms(270.0, 0, 300.0))
    assert simulate_mix(mix, late, 40).means == pytest.approx((300, 300), abs=1)
    assert lateness(mix, late) > 0.05
    held = hold(mix, late)
    assert held is not None
    assert lateness(mix, held) == 0
    assert simulate_mix(mix, held, 40).means == pytest.approx((300, 300))


def test_periods_have_the_slack_that_is_asked_for() -> None:
    mix = mix_of([[(300, 10_000)], [(300, 10_000)]], 100)
    held = hold(mix, (JobTerms(), JobTerms(200.0)), 0.01)
    assert held is not None
    assert [own.period_us for own in held] == pytest.approx([404, 404])


def test_nothing_is_held_that_is_not_shifted_or_has_no_common_period() -> None:
    mix = mix_of([[(300, 10_000)], [(300, 10_000)]], 100)
    fair = (JobTerms(), JobTerms())
    assert hold(mix, fair) == fair
    other = mix_of([[(300, 10_000)], [(180, 10_000)]], 100)  # 400 and 280
    assert hold(other, (JobTerms(), JobTerms(50.0))) is None


@pytest.mark.parametrize("seed", range(8))
def test_held_shifts_are_never_late(seed: int) -> None:
    jobs, capacity = drawn_mix(seed)
    mix = mix_of(jobs, capacity)
    terms = cassini_shifts(mix)
    held = hold(mix, terms, 0.01)
    if held is not None and held != terms:
        assert lateness(mix, held) == 0
        assert len({own.period_us for own in held}) <= len(mix.jobs)
