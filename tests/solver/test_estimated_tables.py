"""Tables of throughputs predicted from a few rows: a case here, all of them in the long lane."""

import pytest

from tests.benchmarks.estimates import CASES, case, mean


@pytest.mark.parametrize("seed", [10])
def test_a_table_is_predicted_from_a_row_of_each_network(seed):
    found = case(seed)
    assert found.median < 0.04
    assert found.p90 < 0.15
    assert found.right >= 22
    assert found.held > 0.75


@pytest.mark.long
def test_tables_are_predicted_as_far_as_the_rows_say():
    """Far better than without contention: 5.8 and 15.6 %, 19.1 of 24, of all cases."""
    found = mean([case(seed) for seed in range(CASES)])
    assert found.median < 0.045
    assert found.p90 < 0.14
    assert found.right > 20.5
    assert 0.8 < found.held < 0.97
