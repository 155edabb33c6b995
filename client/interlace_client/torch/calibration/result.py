"""What a calibration comes to: the cost of launches, how sure it is, and how it was measured."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from interlace_client.torch.calibration.table import monotone, quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace_client.torch.calibration.rounds import Samples
    from interlace_client.torch.calibration.table import Table

ALL_REDUCE = "all_reduce"
#: The share of the samples that a spread leaves out at either end.
_TAIL = 0.05
#: The same of how far the rounds of a size are apart; fewer rounds do not tell.
_APART, _LEAST = 0.1, 3
#: Costs that vary by more are worth a sentence.
_NOISY = 0.1


@dataclass(frozen=True)
class Calibration:
    """What launches cost under traffic that does not pause, by the slowest rank.

    Attributes
    ----------
    workers
        Ranks that took part.
    tables
        For each kind points (bytes, us), monotone.
    spread
        For each kind and size, what 5 % and 95 % of the rounds were below [us].
    apart
        How far rounds of one size were apart, as a cost model's ``spread`` has it: (90 % - 10 %) /
        median of their times, the median over all sizes; None of fewer than three rounds.
    seconds
        How long it took [s].
    notes
        How it was measured, and what to mind, in sentences.
    """

    workers: int
    tables: Mapping[str, Table]
    spread: Mapping[str, Mapping[int, tuple[float, float]]]
    apart: float | None
    seconds: float
    notes: tuple[str, ...]

    @property
    def cluster(self) -> dict[str, Any]:
        """The cluster of a request for a plan, as JSON: a table, and how sure it is."""
        written = {kind: [list(point) for point in table] for kind, table in self.tables.items()}
        own = written.pop(ALL_REDUCE, None)
        measured = {
            "algorithm": "table",
            "workers": self.workers,
            **({} if own is None else {"table": own}),
            **({"tables": written} if written else {}),
            **({} if self.apart is None else {"spread": self.apart}),
        }
        return {"workers": self.workers, "cost_model": measured}


def calibration_of(
    workers: int, samples: Mapping[str, Samples], seconds: float, about: Sequence[str]
) -> Calibration:
    """Make a table of the samples of each kind."""
    tables = {kind: monotone(each.costs) for kind, each in samples.items()}
    spread = {
        kind: {
            size: (quantile(costs, _TAIL), quantile(costs, 1 - _TAIL))
            for size, costs in each.costs.items()
        }
        for kind, each in samples.items()
    }
    rounds = [costs for each in samples.values() for costs in each.costs.values()]
    widths = [
        (quantile(costs, 1 - _APART) - quantile(costs, _APART)) / median(costs)
        for costs in rounds
        if len(costs) >= _LEAST and median(costs) > 0
    ]
    notes = [*about]
    for kind, each in samples.items():
        notes += _sentences(kind, each)
    apart = median(widths) if widths else None
    return Calibration(workers, tables, spread, apart, seconds, tuple(notes))


def _sentences(kind: str, samples: Samples) -> list[str]:
    """Say of a kind how it was measured, and what to mind."""
    sizes = list(samples.costs)
    widths = [
        (quantile(costs, 1 - _TAIL) - quantile(costs, _TAIL)) / median(costs)
        for costs in samples.costs.values()
    ]
    noise = median(widths)
    measured = (
        f"{kind}: {len(sizes)} sizes from {sizes[0]} to {sizes[-1]} bytes, each in "
        f"{_count(samples.rounds, 'round')} after {_count(samples.lead, 'launch')} that did not "
        f"count; 90 % of the rounds lie within {noise:.1%} of the median cost, in the median over "
        "the sizes."
    )
    told = [measured]
    if noise > _NOISY:
        told.append(
            f"{kind}: these costs vary much. Other work on the hosts or on the network does that; "
            "a plan made of them is no better than they are."
        )
    if samples.left_out:
        told.append(
            f"{kind}: {_count(len(samples.left_out), 'size')} from {samples.left_out[0]} bytes on "
            "would have taken too long; costs beyond the last point are extrapolated. A longer "
            "limit_s measures them."
        )
    if samples.unused:
        unused = _count(samples.unused, "launch")
        told.append(f"{kind}: the last {unused} of the plan would have taken too long.")
    return told


def _count(number: int, noun: str) -> str:
    """Write a number with its noun."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number} {noun if number == 1 else plural}"
