"""Factors of durations: the same on every machine."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import lognorm

from solver.simulation.factors import lognormal


def _random() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(7))


@pytest.mark.parametrize("nudge", [-1.0, 1.0])
def test_last_bits_of_the_exponential_do_not_count(
    nudge: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = lognormal(_random(), 0.05, 10_000)
    exact = np.exp
    monkeypatch.setattr(np, "exp", lambda x: np.nextafter(exact(x), nudge * math.inf))
    assert_array_equal(lognormal(_random(), 0.05, 10_000), drawn)


def test_distribution() -> None:
    drawn = lognormal(_random(), 0.3, 100_000)
    sigma = math.sqrt(math.log(1.09))
    quantiles = np.linspace(0.05, 0.95, 19)
    expected = lognorm.ppf(quantiles, sigma, scale=math.exp(-(sigma**2) / 2))
    assert np.quantile(drawn, quantiles) == pytest.approx(expected, rel=0.01)
    assert drawn.mean() == pytest.approx(1.0, abs=0.005)
    assert drawn.std() == pytest.approx(0.3, abs=0.005)
