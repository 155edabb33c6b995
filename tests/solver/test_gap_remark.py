"""What a gap says: nothing of an optimum, the price of few launches, or what may be gained."""

import pytest

from solver.bounds.status import FEASIBLE, OPTIMAL, WITHIN
from solver.evidence.gap import gap_remark


@pytest.mark.parametrize(
    ("status", "gap", "says"),
    [
        (OPTIMAL, 0.0, ""),
        (FEASIBLE, None, ""),
        (FEASIBLE, 0.03, "the bound may be too low"),
        (WITHIN, 0.001, "price of few launches"),
    ],
)
def test_both_sides_of_a_gap_are_said(status, gap, says):
    remark = gap_remark(status, gap)
    assert says in remark
    assert bool(remark) == bool(says)
