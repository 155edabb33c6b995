"""How often a trial is right, over many repetitions with planted noise of several sizes.

A step's time is multiplied by noise as training on shared machines has it: most steps lie close
together, some take far longer, for a step or two in a row or for as long as an arm's turn, and all
drift. How large it is differs: ``python -m tests.benchmarks.trials`` prints it for a machine, and
how often trials are right there.

A trial is right where what it keeps takes at most 1 % more than the best arm. Other rules were
tried on such trials, of all gains, with the noise of a busy machine, of two arms and of four. The
low end of an interval of pairs above 1 % is right in 77 and 65 of 100; the faster median in 92 and
88; the faster mean of all steps, of four arms, in 86; of the fastest half in 93 and 90, of the
fastest two thirds in 93 and 91. Shorter turns, and arms left out that were slower in their first
turn, changed less than 2. That the interval must lie above 0.9 costs nothing there; on a crowded
machine a plan that takes over 1 % more is kept in 4 of 100 trials of two arms, without it in 22.
"""

from collections.abc import Iterator
from math import exp
from random import Random
from statistics import mean

import pytest

pytest.importorskip("torch")

from interlace_client.torch.trial.outcome import ArmTimes, gain_over
from interlace_client.torch.trial.turns import Turns

_REPETITIONS = 150
#: Logarithms: spread of most steps, mean of what spikes add, their share, and drift of a step; of
#: disturbances as long as a turn their share of steps, mean length and height.
QUIET, BUSY = (0.01, 0.05, 0.05, 0.001), (0.04, 0.2, 0.08, 0.004)
BURSTY = (0.03, 0.1, 0.05, 0.002, 0.04, 6.0, 0.1)
#: As two workers on two cores have it beside 15 other processes that want them.
CROWDED = (0.5, 0.8, 0.1, 0.05)
#: How much faster the plan is in truth.
_GAINS = (0.8, 0.9, 0.95, 0.97, 0.98, 0.985, 1.0, 1.015, 1.02, 1.03, 1.05, 1.1, 1.2)


def noise(
    random: Random,
    spread: float,
    spike: float,
    share: float,
    drift: float,
    long_share: float = 0.0,
    length: float = 1.0,
    long: float = 1.0,
) -> Iterator[float]:
    """Yield factors of steps' times, without end."""
    level, left, height = 0.0, 0, 0.0
    long_left, long_height = 0, 0.0
    while True:
        level += random.gauss(0, drift)
        if left == 0 and random.random() < share:
            left, height = 1 + int(random.random() < 0.5), random.expovariate(1 / spike)
        if long_left == 0 and random.random() < long_share:
            long_left = 1 + int(random.expovariate(1 / length))
            long_height = random.expovariate(1 / long)
        factor = level + random.gauss(0, spread)
        yield exp(factor + (height if left else 0) + (long_height if long_left else 0))
        left, long_left = max(0, left - 1), max(0, long_left - 1)


def kept_in(seed: int, arms, times_us, kind, rival=None) -> tuple[int, int]:
    """Go through a trial of arms; return what is kept, after how many steps."""
    turns = Turns([ArmTimes("arm", is_plan, ()) for is_plan in arms], rival=rival)
    factors = noise(Random(seed), *kind)
    while True:
        if turns.note(times_us[turns.arm] * next(factors)):
            outcome = turns.look(turns.times)
            if outcome is not None:
                return outcome.kept, turns.steps


def trials(arms, times_us, kind, rival=None) -> tuple[float, float, float]:
    """Return the shares of trials that keep a plan, and that are right, and their mean steps."""
    found = [kept_in(seed, arms, times_us, kind, rival) for seed in range(_REPETITIONS)]
    first = 0 if rival is None else rival
    plan = mean(arms[k] and k != first for k, _ in found)
    right = mean(times_us[k] <= 1.0101 * min(times_us) for k, _ in found)
    return plan, right, mean(steps for _, steps in found)


@pytest.mark.parametrize(("kind", "least"), [(QUIET, 0.98), (BUSY, 0.9), (BURSTY, 0.9)])
@pytest.mark.parametrize("rival", [None, 0])
def test_what_is_kept_of_two_arms_is_within_1_percent_of_the_best(kind, least, rival):
    found = [
        trials((rival is not None, True), [100.0, 100 / gain], kind, rival)[1] for gain in _GAINS
    ]
    assert mean(found) >= least


@pytest.mark.parametrize(("kind", "least"), [(QUIET, 0.98), (BUSY, 0.86), (BURSTY, 0.86)])
def test_what_is_kept_of_four_arms_is_within_1_percent_of_the_best(kind, least):
    """Two caps, two windows: the best of each kind is to be found as well."""
    found = [
        trials(
            (False, False, True, True),
            [100.0 * cap, 100.0, 100 / gain, 100 / gain * window],
            kind,
        )[1]
        for gain in (0.95, 0.98, 1.0, 1.02, 1.05, 1.1)
        for cap in (1.0, 1.05)
        for window in (1.0, 1.05)
    ]
    assert mean(found) >= least


@pytest.mark.parametrize(
    ("gain", "kind", "most"),
    [
        (0.98, QUIET, 0.02),
        (0.97, BUSY, 0.12),
        (0.95, BUSY, 0.05),
        (0.97, BURSTY, 0.12),
        (0.98, CROWDED, 0.15),
        (0.8, CROWDED, 0.06),
    ],
)
def test_a_plan_that_is_slower_is_seldom_kept(gain, kind, most):
    """On a crowded machine what was there before goes on."""
    assert trials((False, True), [100.0, 100 / gain], kind)[0] <= most


@pytest.mark.parametrize(
    ("gain", "kind", "least"),
    [
        (1.02, QUIET, 0.95),
        (1.03, BUSY, 0.75),
        (1.05, BUSY, 0.9),
        (1.05, BURSTY, 0.9),
        (1.1, BUSY, 0.97),
    ],
)
def test_a_plan_that_wins_clearly_is_kept(gain, kind, least):
    share, _, steps = trials((False, True), [100.0, 100 / gain], kind)
    assert share >= least
    assert steps <= 40


@pytest.mark.parametrize("kind", [QUIET, BUSY, BURSTY, CROWDED])
@pytest.mark.parametrize("count", [6, 8, 14])
def test_the_interval_holds_what_is_true(kind, count):
    """In 90 of 100 cases; 400 would show less than 85 in one of a thousand sets."""
    held = 0
    for seed in range(400):
        factors = noise(Random(seed), *kind)
        steps: list[list[float]] = [[], []]
        for k in range(count):  # in turns of two
            steps[(k + 1) // 2 % 2] += [next(factors), next(factors)]
        arms = [ArmTimes("arm", is_plan=False, steps_us=tuple(each)) for each in steps]
        _, low, high = gain_over(*arms)
        held += low <= 1 <= high
    assert held >= 0.85 * 400
