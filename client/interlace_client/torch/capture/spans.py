"""Passes as rows of spans, from the cycles of all ranks.

What happens in a pass is a row of marks: gradients that are ready, modules that are entered. A mark
lies where it does in the median cycle of the rank on which it comes last, counted from the start of
the pass: ranks meet where they communicate, and wait there for the slowest. Medians and maxima keep
the order of marks, so no span takes less than no time, and the spans of a pass add up to the pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING, Callable, Optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.capture.cycles import Cycle
    from interlace_client.torch.capture.ranks import RankRecord

#: When something happens in a cycle, counted from the start of its pass [us]; None if it does not.
When = Callable[["Cycle"], Optional[float]]

#: Less than a nanosecond tells nothing.
_DIGITS = 3


@dataclass(frozen=True)
class CycleMark:
    """What happens at a time [us] of a pass, and when it does in each cycle."""

    op: str
    at: float
    when: When


@dataclass(frozen=True)
class OpSpan:
    """An op between two marks."""

    op: str
    begin: CycleMark
    end: CycleMark

    @property
    def duration_us(self) -> float:
        """How long it takes."""
        return round(self.end.at - self.begin.at, _DIGITS)

    def spread_us(self, records: Sequence[RankRecord]) -> tuple[tuple[float, float], ...]:
        """Return median and 95th percentile on each rank that has it."""

        def duration(cycle: Cycle) -> float | None:
            begin, end = self.begin.when(cycle), self.end.when(cycle)
            return None if begin is None or end is None else max(end - begin, 0.0)

        return spread_us(records, duration)


def mark(records: Sequence[RankRecord], op: str, when: When) -> CycleMark | None:
    """Return the mark of what happens in some cycles at least, else None."""
    at = slowest(records, when)
    return None if at is None else CycleMark(op, at, when)


def origin(op: str) -> CycleMark:
    """Return the start of a pass."""
    return CycleMark(op, 0.0, lambda _: 0.0)


def slowest(records: Sequence[RankRecord], when: When) -> float | None:
    """Return the median over the cycles of the rank where it is largest; None where none has it."""
    found = [values for record in records if (values := _values(record, when))]
    return round(max(map(median, found)), _DIGITS) if found else None


def spread_us(records: Sequence[RankRecord], when: When) -> tuple[tuple[float, float], ...]:
    """Return median and 95th percentile of a time over the cycles of each rank that has it."""
    found = [values for record in records if (values := _values(record, when))]
    return tuple(
        (round(median(values), _DIGITS), round(_most(values), _DIGITS)) for values in found
    )


def _values(record: RankRecord, when: When) -> list[float]:
    return [at for cycle in record.cycles if (at := when(cycle)) is not None]


def _most(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else quantiles(values, n=20, method="inclusive")[-1]
