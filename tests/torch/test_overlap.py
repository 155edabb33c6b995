"""What stands for compute and launches that slow each other: no more than is measured."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

from interlace_client.torch.overlap import Overlap
from interlace_client.torch.trial.window import WindowTimes, fastest

TIMES = st.floats(1.0, 1e6)
FACTORS = st.floats(1.0, 50.0)


def both_at_once(compute: float, launches: float, slower: float, longer: float) -> float:
    """Run compute and launches from the same moment on, each slowed while the other goes on."""
    together = min(compute * slower, launches * longer)
    return together + (compute - together / slower) + (launches - together / longer)


@given(TIMES, TIMES, FACTORS, FACTORS)
@settings(max_examples=200)
def test_no_more_is_promised_than_both_at_once_take(compute, launches, slower, longer):
    one = Overlap(slower, longer).slowdown(compute, launches)
    assert 1 <= one <= 100
    promised = both_at_once(compute, launches, one, 1.0)
    one_by_one = compute + launches
    takes = both_at_once(compute, launches, slower, longer)
    assert promised >= min(takes, one_by_one) - 0.0101 * one_by_one
    if compute * slower >= launches * longer and one < 100:
        assert promised == pytest.approx(takes)


@pytest.mark.parametrize(
    ("slower", "longer", "compute", "launches", "one"),
    [
        (1.0, 1.0, 60.0, 110.0, 1.0),  # sleeping compute on a link
        (2.5, 1.0, 60.0, 500.0, 2.5),  # launches as fast as alone: as it was said before
        (2.0, 1.25, 100.0, 100.0, 0.8 / 0.3),  # 125 units both, 37.5 saved for 100 of launches
        (2.0, 2.0, 60.0, 110.0, 100.0),  # one after the other is as fast
        (4.0, 4.0, 60.0, 110.0, 100.0),  # and faster
        (1.0, 2.0, 49.0, 50.0, 50 / (24.5 + 0.99)),  # a half of compute is saved, not all
    ],
)
def test_on_paper(slower, longer, compute, launches, one):
    assert Overlap(slower, longer).slowdown(compute, launches) == pytest.approx(one)


def test_a_larger_window_takes_more_than_1_percent():
    assert fastest({1: 100.0, 2: 99.2, 4: 103.0}) == 1
    assert fastest({1: 100.0, 2: 98.0, 4: 97.5}) == 2
    assert fastest({1: 100.0, 2: 98.0, 4: 90.0}) == 4
    assert (
        "2. A step takes 0.1 ms at 1, 0.1 ms at 2." in WindowTimes({1: 99.0, 2: 90.0}, 2).sentence
    )
