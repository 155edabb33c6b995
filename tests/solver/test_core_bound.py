"""The bound from what fits before a release and after it: never above an optimum, and by hand."""

import random

import numpy as np
import pytest

from solver.bounds import core
from solver.bounds.chain import LowerBound
from solver.bounds.core import bound_of, core_proof, with_core
from solver.bounds.kinds import COMPUTE, CORE
from solver.chain import Chain
from solver.costs import Affine, Cost, MeasuredCost
from tests import oracles
from tests.sampling import cases


def drawn(seed: int) -> tuple[Chain, Cost]:
    """Draw a chain of a few tensors, half of them layer chains, and a line or a table."""
    generator = random.Random(seed)
    count = generator.randint(1, 5)
    release = sorted(generator.randint(0, 12) * 100.0 for _ in range(count))
    tail = [generator.randint(0, 12) * 100.0 for _ in range(count)]
    if generator.random() < 0.5:
        tail.sort()
    sizes = [100_000 * generator.randint(1, 6) for _ in range(count)]
    compute = max(r + q for r, q in zip(release, tail, strict=True))
    chain = Chain(
        np.arange(count), np.array(release), np.array(tail), np.array(sizes, np.int64), compute
    )
    cost: Cost = Affine(generator.choice((0.0, 50.0, 200.0)), generator.choice((1e-3, 4e-3)))
    if generator.random() < 0.2:
        cost = MeasuredCost((100_000, 300_000, 900_000), (200.0, 300.0, 1_500.0), 0.001, 0.0)
    return chain, cost


def violations(count: int) -> list[int]:
    """Seeds whose core bound is above the best of all plans with at most one bucket cut."""
    found = []
    for seed in range(count):
        chain, cost = drawn(seed)
        best = oracles.best_plan(chain, cost, np.inf)
        if core_proof(chain, cost).value > best * (1 + 1e-9):
            found.append(seed)
    return found


def test_no_plan_of_all_is_below_it():
    assert not violations(cases(2_000))


@pytest.mark.parametrize("more", ["a start-up", "one part in a hundred"])
def test_a_value_that_is_too_large_is_noticed(monkeypatch, more):
    def too_large(release, tail, work, startup, z):
        value = bound_of(release, tail, work, startup, z)
        return value + (startup if more == "a start-up" else value / 100)

    monkeypatch.setattr(core, "bound_of", too_large)
    assert violations(40)


def test_the_bound_by_hand():
    """A start-up of 10, 1 us a byte. Before 100 fit 90 less what is released late; after it 40.

    Tensor 0 (60 bytes) is released at 0 with nothing behind it, tensor 1 (80 bytes) at 50 with 20
    behind it, z (30 bytes) at 100 with 50 behind it. By 100 launches carry 90 (10 + 60, 10 + 20 of
    tensor 1: 80; or both in one from 50 on: 40); in the last 50 at most 40. So 170 - 80 - 40 = 50
    lie between, after a start-up: 100 + 10 + 50 + 50.
    """
    release, tail = np.array([0.0, 50.0, 100.0]), np.array([0.0, 20.0, 50.0])
    sizes = np.array([60, 80, 30], np.int64)
    assert bound_of(release, tail, sizes.astype(float), 10.0, 2) == 210.0
    chain = Chain(np.arange(3), release, tail, sizes, 150.0)
    proof = core_proof(chain, Affine(10.0, 1.0))
    assert proof == (210.0, 10.0, 1.0, (0, 1, 2), 2)
    bound = with_core(chain, Affine(10.0, 1.0), LowerBound(150.0, COMPUTE))
    assert bound == LowerBound(210.0, CORE, (0, 1, 2), 100.0, 50.0)
    assert with_core(chain, Affine(10.0, 1.0), LowerBound(210.0, COMPUTE)).kind == COMPUTE


def test_what_launches_carry_is_the_definition():
    """By every run of launches in release order, the last one cut short."""
    for seed in range(200):
        generator = random.Random(seed)
        count = generator.randint(1, 6)
        release = np.array(sorted(generator.randint(0, 20) for _ in range(count)), float)
        work = np.array([generator.randint(1, 9) for _ in range(count)], float)
        startup, time = generator.choice((0.0, 3.0)), float(generator.randint(0, 40))
        best = 0.0
        for mask in range(1 << count):
            now, carried, waiting = 0.0, 0.0, 0.0
            for i in range(count):
                waiting += work[i]
                if mask >> i & 1:  # a launch when i is released
                    now = max(now, release[i]) + startup
                    room = max(0.0, min(waiting, time - now))
                    carried += room
                    now, waiting = now + waiting, 0.0
            best = max(best, carried)
        assert core._carried(release, work, startup, time) == best


def test_some_sets_are_enough_for_a_bound(monkeypatch):
    chain, cost = drawn(3)
    whole = core_proof(chain, cost).value
    monkeypatch.setattr(core, "_SETS", 1)
    assert core_proof(chain, cost).value <= whole
