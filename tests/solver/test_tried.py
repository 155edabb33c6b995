"""Beginnings that are all tried: nothing shorter is ruled out that some plan takes."""

import numpy as np
import pytest

from solver.bounds import tried as module
from solver.bounds.chain import LowerBound
from solver.bounds.kinds import COMPUTE, TRIED
from solver.bounds.tried import tried
from solver.chain import Chain
from solver.costs import Affine, MeasuredCost
from solver.units import slack
from tests import oracles
from tests.sampling import cases
from tests.solver.test_core_bound import drawn


def wrong(count: int) -> tuple[list[int], int]:
    """Seeds of which a time is ruled out that a plan takes, and how many were proven."""
    found, proven = [], 0
    for seed in range(count):
        chain, cost = drawn(seed)
        best = oracles.best_plan(chain, cost, np.inf)
        known = LowerBound(chain.compute_time, COMPUTE)
        if best <= chain.compute_time + slack(best) or not isinstance(cost, Affine):
            continue
        if tried(chain, cost, known, best * 1.01).kind == TRIED:
            found.append(seed)
        proven += tried(chain, cost, known, best).kind == TRIED
    return found, proven


def test_no_time_is_ruled_out_that_a_plan_takes():
    found, proven = wrong(cases(2_000))
    assert not found
    assert proven > cases(2_000) / 3


def test_a_rule_that_leaves_out_too_much_is_noticed(monkeypatch):
    monkeypatch.setattr(module._Beginnings, "_is_late", lambda self, here: here.now > 0)
    assert wrong(60)[0]


def test_what_is_cut_pays_twice():
    """As in test_windows: 171 is the optimum, the long bucket in two parts around the urgent one.

    Without a cut 181 is the least; a start-up more for the cut, and it is again.
    """
    chain = Chain(
        np.arange(2), np.array([0.0, 60.0]), np.array([40.0, 60.0]), np.array([100, 1]), 120.0
    )
    known = LowerBound(120.0, COMPUTE)
    cost = Affine(10.0, 1.0)
    assert tried(chain, cost, known, 171.0) == LowerBound(171.0, TRIED, (0, 1))
    assert tried(chain, cost, known, 172.0) is known


def test_only_a_few_tensors_at_an_affine_cost_are_tried(monkeypatch):
    chain = Chain(np.arange(1), np.array([0.0]), np.array([5.0]), np.array([10]), 5.0)
    known = LowerBound(5.0, COMPUTE)
    cost = Affine(1.0, 1.0)
    assert tried(chain, cost, known, 16.0) == LowerBound(16.0, TRIED, (0,))
    assert tried(chain, MeasuredCost((1, 10), (2.0, 11.0), 0.001, 0.0), known, 16.0) is known
    assert tried(chain, cost, LowerBound(16.0, COMPUTE), 16.0).kind == COMPUTE
    monkeypatch.setattr(module, "MAX_TENSORS", 0)
    assert tried(chain, cost, known, 16.0) is known


def test_what_is_looked_at_is_limited(monkeypatch):
    chain = Chain(
        np.arange(2), np.array([0.0, 60.0]), np.array([40.0, 60.0]), np.array([100, 1]), 120.0
    )
    monkeypatch.setattr(module, "_LOOKS", 1)
    known = LowerBound(120.0, COMPUTE)
    assert tried(chain, Affine(10.0, 1.0), known, 171.0) is known


@pytest.mark.parametrize("seed", range(3))
def test_the_same_twice(seed):
    chain, _ = drawn(seed)
    cost, known = Affine(50.0, 1e-3), LowerBound(0.0, COMPUTE)
    assert tried(chain, cost, known, 1_500.0) == tried(chain, cost, known, 1_500.0)
