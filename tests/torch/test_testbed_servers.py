"""What is counted of the steps of a parameter server's workers on the testbed."""

import pytest

pytest.importorskip("torch")

from tests.testbed.servers import pace, settled


def test_steps_count_behind_the_first_half_of_the_time():
    assert settled([1.0, 4.0, 6.5, 9.0, 11.0], 10.0) == [6.5, 9.0, 11.0]
    assert settled([], 10.0) == []


def test_the_pace_is_that_of_whole_steps_while_all_train():
    rate, steps = pace([[0.0, 1.0, 2.0, 3.0, 4.0], [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]])
    assert steps == 8  # of the first worker from 1 to 3, of the second from 0.5 to 3.5
    assert rate == pytest.approx(1.0 + 2.0)
    assert pace([[0.0, 1.0, 2.0], [0.5, 1.5]]) is None  # one step of the first
    assert pace([[0.0, 1.0, 2.0], []]) is None
