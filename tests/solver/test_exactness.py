"""Solvers that work differently find the same optimum."""

import numpy as np
import pytest
from hypothesis import given, settings

from solver.schedule import Jobs, jackson, lp
from tests import oracles
from tests.sampling import cases
from tests.strategies import jobs


@given(problem=jobs(most=3, longest=2))
@settings(max_examples=cases(150))
def test_the_lexicographic_lp_and_the_one_lp_weights_agree(problem):
    value = jackson(problem).value
    assert lp(problem).value == value
    assert oracles.lexicographic_value(problem) == value
    assert oracles.weighted_value(problem) == value


@pytest.mark.long
def test_cp_sat_agrees():
    generator = np.random.default_rng(0)
    problems = []
    for _ in range(150):
        count = int(generator.integers(1, 8))
        rows = [generator.integers(0, most, count).astype(np.float64) for most in (12, 6, 12)]
        problems.append(Jobs(*rows))
    values, _ = oracles.cp_sat_values(problems)
    assert values == [jackson(problem).value for problem in problems]
