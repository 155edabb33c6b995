"""Intervals of paired ratios beside a search over all signs."""

from itertools import product
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from interlace_client.torch.proof.paired import ratio_interval


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
    gain, low, high = ratio_interval(ratios)
    assert low <= gain <= high
    for end, sign in ((log(low), -1), (log(high), 1)):
        assert not _is_believed(ratios, end + sign * 1e-9)
        assert _is_believed(ratios, end - sign * 1e-9) or low == high


def test_interval_of_seven_on_paper():
    """The fourth of 28 means at each end: 3 + 2 + 1 + 1 ways of 128 lie below, 3.9 %."""
    ratios = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 4.0]
    assert ratio_interval(ratios) == pytest.approx((1.0, 1.0, 2.0))
