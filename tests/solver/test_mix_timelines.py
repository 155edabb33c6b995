"""When jobs of a mix send: on paper, and what they carry in a pattern."""

import pytest

from solver.jobs.mix import JobTerms, Mix, MixedJob
from solver.jobs.profile import Phase, profile_of_phases
from solver.jobs.simulate import simulate_mix
from solver.jobs.timeline import timelines_of
from tests.solver.test_mixes import drawn

#: A byte takes a microsecond at so many Gbit/s.
UNIT = 0.008


def pair(shift: float) -> tuple[Mix, tuple[JobTerms, ...]]:
    """Two jobs: compute of 4, and 4 bytes on a link of a byte a microsecond."""
    links = {"up": UNIT}
    profile = profile_of_phases([Phase(4.0, 4.0, ("up",))], links)
    mix = Mix(tuple(links.items()), (MixedJob("x", (profile,)), MixedJob("y", (profile,))))
    return mix, (JobTerms(), JobTerms(shift))


def test_two_jobs_that_collide_and_two_that_take_turns() -> None:
    mix, terms = pair(0.0)
    told, (x, y) = timelines_of(mix, simulate_mix(mix, terms, is_traced=True))
    assert told == pytest.approx(12.0)
    assert x == y
    assert x.begins_us == pytest.approx((0.0,))
    assert list(x.sends[0]) == pytest.approx([4.0, 12.0, 0.5])
    mix, terms = pair(4.0)
    told, (x, y) = timelines_of(mix, simulate_mix(mix, terms, is_traced=True))
    assert told == pytest.approx(8.0)
    assert list(x.sends[0]) == pytest.approx([4.0, 8.0, 1.0])
    assert y.begins_us == pytest.approx((4.0,))  # it began before the window, and does so again
    assert list(y.sends[0]) == pytest.approx([0.0, 4.0, 1.0])


@pytest.mark.parametrize("seed", range(60))
def test_what_is_sent_in_a_pattern_is_what_its_iterations_send(seed: int) -> None:
    mix, terms, _, _ = drawn(seed)
    run = simulate_mix(mix, terms, iterations=40, is_traced=True)
    told, found = timelines_of(mix, run)
    assert told <= 6 * max(run.means) * (1 + 1e-9)
    for own in found:
        ends = [0.0, *(end for _, end, _ in own.sends)]
        assert all(b >= a - 1e-9 for a, (b, _, _) in zip(ends, own.sends, strict=False))
        assert all(0 < speed <= 1 + 1e-9 for _, _, speed in own.sends)
    if run.pattern_us is None or told < run.pattern_us * (1 - 1e-9):
        return
    for job, own, times in zip(mix.jobs, found, run.times, strict=True):
        # transfers of phases follow one another, so each has its speed to itself
        alone = sum(each.end - each.start for each in job.profiles[0].transfers) * len(times)
        sent = sum((end - begin) * speed for begin, end, speed in own.sends)
        assert sent == pytest.approx(alone, rel=1e-6, abs=1e-6)
        assert len(own.begins_us) == len(times)


def test_patterns_are_among_them() -> None:
    """The law above is tested on mixes whose pattern is told whole."""
    whole = 0
    for seed in range(60):
        mix, terms, _, _ = drawn(seed)
        run = simulate_mix(mix, terms, iterations=40)
        whole += run.pattern_us is not None and run.pattern_us <= 6 * max(run.means)
    assert whole >= 20
