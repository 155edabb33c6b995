"""What a trial decides: intervals beside a search over all signs, and by planted times."""

from itertools import product
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from interlace_client.torch.trial.outcome import (
    ArmTimes,
    TrialOutcome,
    decide,
    finalists,
    gain_interval,
)
from interlace_client.torch.trial.turns import MOST_STEPS, WARM, Turns


def _is_believed(ratios: list[float], centre: float) -> bool:
    """Test by all signs whether logarithms may lie evenly about one: at 5 % at each end."""
    apart = [log(ratio) - centre for ratio in ratios]
    order = sorted(apart, key=abs)
    positive = sum(rank for rank, each in enumerate(order, 1) if each > 0)
    sums = [
        sum(rank for rank, sign in enumerate(signs, 1) if sign)
        for signs in product((0, 1), repeat=len(ratios))
    ]
    at_most = sum(each <= positive for each in sums) / len(sums)
    at_least = sum(each >= positive for each in sums) / len(sums)
    return min(at_most, at_least) > 0.05


@given(st.lists(st.floats(0.5, 2.0), min_size=5, max_size=8, unique=True))
def test_interval_is_of_what_no_test_of_all_signs_rejects(ratios):
    gain, low, high = gain_interval(ratios)
    assert low <= gain <= high
    for end, sign in ((log(low), -1), (log(high), 1)):
        assert not _is_believed(ratios, end + sign * 1e-9)
        assert _is_believed(ratios, end - sign * 1e-9) or low == high


def test_interval_of_seven_on_paper():
    """The fourth of 28 means at each end: 3 + 2 + 1 + 1 ways of 128 lie below, 3.9 %."""
    ratios = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 4.0]
    assert gain_interval(ratios) == pytest.approx((1.0, 1.0, 2.0))


@pytest.mark.parametrize(
    ("plans", "others", "kept"),
    [
        ([[100.0] * 7], [[102.0] * 7], 0),
        ([[100.0] * 7], [[100.9] * 7], 1),  # less than 1 %
        ([[100.0] * 7], [[102.0] * 7, [100.5] * 7], 2),  # the best of what one runs
        ([[103.0] * 7, [100.0] * 7], [[102.0] * 7], 1),
        ([[100.0] * 7], [[120.0, 90.0, 120.0, 90.0, 120.0, 90.0, 120.0]], 1),  # who knows
        ([[100.0] * 6 + [900.0]], [[102.0] * 7], 1),  # 7 of 28 means have the step of 900
    ],
)
def test_plan_stays_only_where_steps_say_so(plans, others, kept):
    arms = [ArmTimes("The plan", is_plan=True, steps_us=tuple(steps)) for steps in plans]
    arms += [ArmTimes("DDP", is_plan=False, steps_us=tuple(steps)) for steps in others]
    outcome = decide(arms, finalists(arms), 1.3)
    assert outcome.kept == kept
    assert outcome.is_planned is arms[kept].is_plan
    assert "23.1% less was promised" in outcome.sentence


def _arms(*are_plans: bool) -> list[ArmTimes]:
    return [ArmTimes(f"Arm {k}", is_plan, ()) for k, is_plan in enumerate(are_plans)]


def _go(turns: Turns, time_of) -> tuple[TrialOutcome, list[int]]:
    """Make all steps of a trial, each in the time of its arm and its place."""
    made: list[int] = []
    while True:
        made.append(turns.arm)
        if turns.note(time_of(made[-1], len(made) - 1)):
            outcome = turns.look(turns.times)
            if outcome is not None:
                return outcome, made


@pytest.mark.parametrize(
    ("plans", "steps", "measured"),
    [
        ((False, True), [22, 40], [8, 14]),
        ((False, True, True), [28, 38], [6, 8]),
        ((False, False, True, True), [38], [6]),
    ],
)
def test_arms_take_turns_there_and_back_and_once_more_where_that_does_not_decide(
    plans, steps, measured
):
    """A gain of 5 % decides; one of 1 % on the average, now more and now less, does not."""
    clear = Turns(_arms(*plans))
    outcome, made = _go(clear, lambda arm, _: 100.0 if plans[arm] else 105.0)
    assert (outcome.kept, len(made), clear.steps) == (plans.index(True), steps[0], steps[0])
    assert {len(arm.steps_us) for arm in outcome.arms} == {measured[0]}
    blocks = [k for place, k in enumerate(made) if place == 0 or made[place - 1] != k]
    assert blocks == [*range(len(plans)), *reversed(range(len(plans) - 1))]
    unclear = Turns(_arms(*plans))
    outcome, made = _go(unclear, lambda arm, at: 100.0 + (0 if plans[arm] else 3 * (at % 2)))
    assert (len(made), unclear.steps) == (steps[-1], steps[-1])
    assert len(made) <= MOST_STEPS
    assert max(len(arm.steps_us) for arm in outcome.arms) == measured[-1]
    assert not plans[outcome.kept]


def test_steps_after_a_change_and_after_a_look_do_not_count():
    """They hide nothing of the step before, and wait for the ranks' times."""
    turns = Turns(_arms(False, True))
    _, made = _go(turns, lambda _, at: float(at % 2 + 1))
    warm = [k for k, at in enumerate(made) if k in (0, 22) or made[k - 1] != at]
    left_out = {each for k in warm for each in range(k, k + WARM)}
    times = [
        [float(k % 2 + 1) for k, arm in enumerate(made) if arm == each and k not in left_out]
        for each in (0, 1)
    ]
    assert turns.times == times


@pytest.mark.parametrize(("new_us", "kept"), [(95.0, 1), (99.5, 0), (105.0, 0)])
def test_of_two_plans_that_of_before_goes_on_unless_it_is_beaten(new_us, kept):
    turns = Turns(_arms(True, True), 1.2, rival=0)
    outcome, _ = _go(turns, lambda arm, _: (100.0, new_us)[arm])
    assert (outcome.kept, outcome.is_planned) == (kept, True)
    assert outcome.gain == pytest.approx(100.0 / new_us)
    assert outcome.sentence.startswith(f"Arm {kept} {'is kept' if kept else 'goes on'}")
