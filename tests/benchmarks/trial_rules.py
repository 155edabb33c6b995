"""How often rules for a trial are right, and how often they keep a plan that is slower.

    python -m tests.benchmarks.trial_rules [--trials 1000] [--recorded TIMES.json]

Trials of two arms, of at most 40 steps, with the planted noise of ``tests/torch/test_trial_errors``
or with steps that were recorded (a list of times of one plan). The plan takes between a quarter
more and a sixth less. A trial is right where what it keeps takes at most 1 % more than the other
arm. It harms where it keeps a plan that takes over 1 % more; said is the share at the gain where
that is most frequent.

But for today's rule all trials are eight steps of the old arm, sixteen of the plan and eight of the
old one, two after each change not counted. A rule keeps the plan where its gain is above half a
percent, and the low end of its interval above a margin. The last line is a bound of rules that harm
in at most 1 % and leave disturbed steps out: Neyman and Pearson's test, told how far steps spread
and which are disturbed, where nothing drifts.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import exp, hypot, log, sqrt
from random import Random
from statistics import NormalDist, fmean, median, stdev

from interlace_client.torch.trial.outcome import gain_interval
from tests.torch.test_trial_errors import BUSY, QUIET, kept_in, noise

#: How many times as long as under the plan a step takes otherwise.
GAINS = (0.8, 0.9, 0.95, 0.97, 0.98, 0.985, 1.0, 1.015, 1.02, 1.03, 1.05, 1.1, 1.2)
#: Steps of the old arm, the plan, and the old arm again; those that do not count before each.
_TURNS, _WARM = (8, 16, 8), 2
#: The share of harmful trials that the bound allows.
_HARM = 0.01
#: What a rule makes of the steps of both arms: a gain and the low end of its interval.
Rule = Callable[[Sequence[float], Sequence[float]], tuple[float, float]]


def paired(old: Sequence[float], new: Sequence[float]) -> tuple[float, float]:
    """Hodges and Lehmann's estimate of pairs; 1 % are left out at the low end."""
    gain, low, _ = gain_interval([x / y for x, y in zip(old, new, strict=True)], 0.01)
    return gain, low


def undisturbed(old: Sequence[float], new: Sequence[float]) -> tuple[float, float]:
    """Means without steps over 2.5 spreads above the median, and 2.5 errors below their ratio."""
    logs = [_near(list(map(log, arm))) for arm in (old, new)]
    gain = fmean(logs[0]) - fmean(logs[1])
    return exp(gain), exp(gain - 2.5 * hypot(*(stdev(arm) / sqrt(len(arm)) for arm in logs)))


def trimmed(old: Sequence[float], new: Sequence[float]) -> tuple[float, float]:
    """Means of the fastest two thirds, and 2.5 of Yuen's errors below their ratio."""
    means, errors = [], []
    for arm in (old, new):
        steps = sorted(map(log, arm))
        counted = steps[: round(2 / 3 * len(steps))]
        filled = [*counted, *[counted[-1]] * (len(steps) - len(counted))]
        middle, count = fmean(filled), len(counted)
        means.append(fmean(counted))
        errors.append(sqrt(sum((x - middle) ** 2 for x in filled) / (count * (count - 1))))
    return exp(means[0] - means[1]), exp(means[0] - means[1] - 2.5 * hypot(*errors))


RULES: dict[str, Rule] = {"pairs": paired, "undisturbed": undisturbed, "fastest 2/3": trimmed}
MARGINS = (0.99, 1.0, 1.01)


def planted(kind: tuple[float, ...]) -> Callable[[int], Iterator[float]]:
    """Make series of factors by a seed."""
    return lambda seed: noise(Random(seed), *kind)


def recorded(times: Sequence[float]) -> Callable[[int], Iterator[float]]:
    """Take series of factors out of recorded times, from a place that a seed draws."""

    def series(seed: int) -> Iterator[float]:
        return iter(times[Random(seed).randrange(len(times) - 40) :])

    return series


def rates(keeps: Callable[[int, float], bool], trials: int) -> tuple[float, float]:
    """Return how often trials of all gains are right, and how often one harms at the worst."""
    kept = {gain: fmean(keeps(seed, gain) for seed in range(trials)) for gain in GAINS}
    right = [p if g > 1.01 else 1 - p if g < 0.99 else 1.0 for g, p in kept.items()]
    return fmean(right), max(p for gain, p in kept.items() if gain < 0.99)


def bound(kind: tuple[float, ...]) -> float:
    """Return how often a rule can be right that harms in no more than 1 %."""
    spread, _, share, _ = kind
    calm = (1 - share) / (1 + share / 2)  # a disturbance lasts 1.5 steps and begins after 1 / share
    error = spread * sqrt(2 / (sum(_TURNS) / 2 * calm))
    normal, least = NormalDist(), log(max(g for g in GAINS if g < 0.99))
    at = normal.inv_cdf(_HARM)
    kept = [normal.cdf((log(gain) - least) / error + at) for gain in GAINS]
    return fmean(p if g > 1.01 else 1 - p if g < 0.99 else 1.0 for g, p in zip(GAINS, kept))  # noqa: B905


def main() -> None:
    """Print a table for each kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--recorded", type=argparse.FileType())
    given = parser.parse_args()
    kinds = {"quiet": planted(QUIET), "busy": planted(BUSY)}
    if given.recorded:
        kinds["recorded"] = recorded(json.load(given.recorded))
    for name, series in kinds.items():
        if name != "recorded":
            kind = QUIET if name == "quiet" else BUSY
            today = lambda s, g, kind=kind: kept_in(s, [100.0, 100.0 / g], kind)[0] > 0
            _say(name, "today's", *rates(today, given.trials))
        for (rule, decide), margin in product(RULES.items(), MARGINS):
            keeps = lambda s, g, d=decide, m=margin, f=series: _keeps(d, m, f(s), g)
            _say(name, f"{rule} above {margin}", *rates(keeps, given.trials))
        if name != "recorded":
            _say(name, "bound", bound(kind), _HARM)


def _keeps(rule: Rule, margin: float, factors: Iterator[float], gain: float) -> bool:
    arms: list[list[float]] = []
    for turn, count in enumerate(_TURNS):
        times = [next(factors) for _ in range(_WARM + count)][_WARM:]
        arms.append([time / gain for time in times] if turn % 2 else times)
    estimate, low = rule(arms[0] + arms[2], arms[1])
    return estimate > 1.005 and low > margin


def _near(steps: list[float]) -> list[float]:
    middle = median(steps)
    spread = 1.4826 * median(abs(step - middle) for step in steps)
    return [step for step in steps if step <= middle + 2.5 * spread]


def _say(kind: str, rule: str, right: float, harm: float) -> None:
    print(f"{kind:9} {rule:24} right {right:6.1%}   harmful {harm:6.1%}")


if __name__ == "__main__":
    main()
