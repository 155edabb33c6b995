"""What a trial decides: intervals beside a search over all signs, and by planted times."""

from itertools import product
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from interlace_client.torch.trial.outcome import ArmTimes, decide, gain_interval
from interlace_client.torch.trial.schedule import MEASURED, steps_of


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
    outcome = decide(arms, 1.3)
    assert outcome.kept == kept
    assert outcome.is_planned is arms[kept].is_plan
    assert "23.1% less was promised" in outcome.sentence


def test_each_arm_has_ten_steps_and_the_arms_take_turns():
    for arms in (2, 3, 4):
        steps = list(steps_of(arms))
        assert len(steps) == 10 * arms
        for arm in range(arms):
            assert sum(measured for k, measured in steps if k == arm) == MEASURED == 6
        blocks = [k for place, (k, _) in enumerate(steps) if place == 0 or steps[place - 1][0] != k]
        assert blocks == [*range(arms), *reversed(range(arms - 1))]
