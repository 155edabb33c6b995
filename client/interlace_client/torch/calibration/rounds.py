"""Rounds of trains until the time is up, the same number on every rank."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from interlace_client.torch.calibration.trains import costs, round_of, steady_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace_client.torch.calibration.channel import CalibrationChannel

#: The most rounds; one has every size, so that a drift of the machine is spread and no slope.
ROUNDS = 12
#: How many launches of a size count in a round: the least, the most.
_LEAST, _MOST = 2, 40
#: How long the launches of a size take in a round that can have more than the least [s].
_TRAIN_S = 0.03
#: The share of the time that one round may take, and the search for the steady part.
_ROUND_SHARE, _SOAK_SHARE = 0.15, 0.1
#: How long nothing is sent before that search, so that a token bucket is full: the most [s], and
#: the share of the time.
_REST_S, _REST_SHARE = 0.3, 0.02
#: Launches that are started at once in that search, and the most of them.
_SOAK, _SOAK_MOST = 4, 64
#: The least number of sizes that make a table.
_SIZES = 2


@dataclass(frozen=True)
class Samples:
    """What launches cost, a sample for each round.

    Attributes
    ----------
    costs
        Of each size the slowest rank's mean of each round [us], sizes ascending.
    left_out
        Sizes that would have taken too long, ascending.
    unused
        How many launches of a plan were left out, as they would have taken too long.
    lead
        Launches that went before each round, so that a token bucket was empty.
    rounds
        How many there were.
    """

    costs: Mapping[int, tuple[float, ...]]
    left_out: tuple[int, ...]
    unused: int
    lead: int
    rounds: int


def sampled(
    channel: CalibrationChannel, sizes: Sequence[int], limit_s: float, launches: Sequence[int] = ()
) -> Samples:
    """Measure launches of some sizes, and those of a plan in its order.

    Parameters
    ----------
    channel
        What carries them.
    sizes
        Two or more, ascending, each once [bytes].
    limit_s
        How long it may take [s]. The first rank's clock decides, so that no rank stops before the
        others.
    launches
        Sizes in the order of use [bytes]; of these a cost is what they take in that order.
    """
    began = channel.now()
    single = _pilot(channel, sorted({*sizes, *launches}), limit_s * _ROUND_SHARE)
    channel.rest(min(_REST_S, limit_s * _REST_SHARE))
    lead, single = _soak(channel, single, limit_s * _SOAK_SHARE)
    used = _prefix(launches, single, limit_s * _ROUND_SHARE)
    counts = _counts({size: single[size] for size in single if size not in used}, limit_s)
    plan = round_of(lead, counts, used)
    found: dict[int, list[float]] = {}
    longest_s, rounds = 0.0, 0
    while rounds < ROUNDS:
        start = channel.now()
        if rounds and not channel.agreed(start - began + longest_s <= limit_s):
            break
        here = costs(plan, channel.run(plan.sizes))
        for size, cost in zip(here, channel.slowest(list(here.values()))):
            found.setdefault(size, []).append(cost)
        longest_s, rounds = max(longest_s, channel.now() - start), rounds + 1
    return Samples(
        {size: tuple(found[size]) for size in sorted(found)},
        tuple(size for size in sorted({*sizes, *launches}) if size not in found),
        len(launches) - len(used),
        len(lead),
        rounds,
    )


def _pilot(channel: CalibrationChannel, sizes: Sequence[int], most_s: float) -> dict[int, float]:
    """Launch each size once [us], the smallest first, while a round of them is no longer."""
    channel.run([sizes[0]] * _SOAK)  # connections are made by the first
    found: dict[int, float] = {}
    spent = 0.0
    for before, size in zip([sizes[0], *sizes], sizes):
        guess = found.get(before, 0.0) * size / before
        if len(found) >= _SIZES and _LEAST * (spent + guess) > most_s * 1e6:
            break
        (found[size],) = channel.slowest(channel.run([size]))
        spent += found[size]
    return found


def _soak(
    channel: CalibrationChannel, single: Mapping[int, float], most_s: float
) -> tuple[list[int], dict[int, float]]:
    """Send the largest size until the traffic is steady.

    Returns
    -------
    tuple
        The launches that it takes until then [bytes], and what single launches are expected to
        cost when it is [us].
    """
    largest = max(single)
    start = channel.now()
    ends: list[float] = []
    while not ends or (len(ends) < _SOAK_MOST and channel.agreed(channel.now() - start < most_s)):
        before = ends[-1] if ends else 0.0
        ends += [before + end for end in channel.run([largest] * _SOAK)]
    half = len(ends) // 2
    steady = (ends[-1] - ends[half - 1]) / (len(ends) - half)
    lead, slower = channel.slowest([steady_from(ends), steady / single[largest]])
    return [largest] * int(lead), {size: us * max(1.0, slower) for size, us in single.items()}


def _counts(single: Mapping[int, float], limit_s: float) -> dict[int, int]:
    """Say how many launches of each size count in a round; leave out what takes too long."""
    counts: dict[int, int] = {}
    spent = 0.0
    for size in sorted(single):
        spent += single[size] * (_LEAST + 1)
        if len(counts) >= _SIZES and spent > limit_s * _ROUND_SHARE * 1e6:
            break
        counts[size] = min(max(ceil(_TRAIN_S * 1e6 / single[size]), _LEAST), _MOST)
    return counts


def _prefix(launches: Sequence[int], single: Mapping[int, float], most_s: float) -> tuple[int, ...]:
    """Return the first launches of a plan, as many as fit into a share of a round."""
    spent = 0.0
    for count, size in enumerate(launches):
        spent += single.get(size, most_s * 1e6)  # what took the pilot too long does so here
        if spent > most_s * 1e6:
            return tuple(launches[:count])
    return tuple(launches)
