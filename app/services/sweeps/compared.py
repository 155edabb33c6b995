"""Two sweeps side by side, for command, page, API and Python: cell by cell, the fastest of each."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.schemas.comparisons import ComparedCell, SweepComparison
from app.schemas.sweeps import SweepAnswer, SweepCell
from app.services.comparisons import different
from app.services.sweeps.views import fastest, kept_time
from solver.prediction.sweep import TIE, share_saved


def compared_sweeps(first: SweepAnswer, second: SweepAnswer) -> SweepComparison:
    """Compare two sweeps that were answered; O(cells)."""
    return compared_cells(first.cells, second.cells, list(_notes(first, second)))


def compared_cells(
    first: Sequence[SweepCell], second: Sequence[SweepCell], notes: Sequence[str] = ()
) -> SweepComparison:
    """Compare the cells of two sweeps; times within 0.1 % are equal, as within a cell."""
    one, other = ({_place(cell): cell for cell in cells} for cells in (first, second))
    places = sorted({*one, *other}, key=lambda place: [each or 0 for each in place])
    cells = [_compared(one.get(place), other.get(place)) for place in places]
    return SweepComparison(
        sentence=" ".join(_sentences(cells)),
        notes=[*notes, *_policies(first, second)],
        cells=cells,
    )


def _place(cell: SweepCell) -> tuple[Any, ...]:
    return cell.workers, cell.bandwidth_gbps, cell.startup_us, cell.memory_limit_bytes


def _compared(one: SweepCell | None, other: SweepCell | None) -> ComparedCell:
    place = one or other
    assert place is not None, "one of the sweeps has it"
    first_us, second_us = _time(one), _time(other)
    is_alike, less = False, None
    if first_us is not None and second_us is not None:
        is_alike = max(first_us, second_us) <= min(first_us, second_us) * (1 + TIE)
        less = share_saved(first_us, second_us)
    ours, theirs = (fastest(cell) if cell else [] for cell in (one, other))
    return ComparedCell(
        workers=place.workers,
        bandwidth_gbps=place.bandwidth_gbps,
        startup_us=place.startup_us,
        memory_limit_bytes=place.memory_limit_bytes,
        held_by="second" if one is None else "first" if other is None else "both",
        first_fastest=ours,
        second_fastest=theirs,
        first_us=first_us,
        second_us=second_us,
        first_gain=_gain(one),
        second_gain=_gain(other),
        less=less,
        is_alike=is_alike,
        is_other_best=bool(ours and theirs) and not {*ours} & {*theirs},
    )


def _time(cell: SweepCell | None) -> float | None:
    return None if cell is None or cell.best is None else kept_time(cell, cell.best)


def _gain(cell: SweepCell | None) -> float | None:
    return cell.gains[0].gain if cell and cell.gains else None


def _sentences(cells: Sequence[ComparedCell]) -> Iterator[str]:
    known = [cell for cell in cells if cell.less is not None]
    shares = [cell.less or 0.0 for cell in known if not cell.is_alike]
    faster, slower = ([each for each in shares if each > 0], [each for each in shares if each < 0])
    if not known:
        yield "No cluster is in both with a time."
    elif not shares:
        yield f"On {_clusters(len(known))} of both the fastest are equal within 0.1 %."
    else:
        most = f" (by {100 * max(faster):.1f} % at most)" if faster else ""
        least = f" (by {-100 * min(slower):.1f} % at most)" if slower else ""
        yield (
            f"Of {_clusters(len(known))} of both B is faster on {len(faster):,}{most}, slower on "
            f"{len(slower):,}{least}, and equal within 0.1 % on {len(known) - len(shares):,}."
        )
    if others := sum(cell.is_other_best for cell in cells):
        yield f"Another policy is the fastest on {others:,}."
    if unknown := sum(cell.held_by == "both" for cell in cells) - len(known):
        yield f"On {unknown:,} one of them has no time."
    for held_by, name in (("first", "A"), ("second", "B")):
        if alone := sum(cell.held_by == held_by for cell in cells):
            yield f"{_clusters(alone)} {'is' if alone == 1 else 'are'} in {name} alone."


def _clusters(count: int) -> str:
    return f"{count:,} cluster{'' if count == 1 else 's'}"


def _policies(first: Sequence[SweepCell], second: Sequence[SweepCell]) -> Iterator[str]:
    """Say which policies only one has."""
    one, other = (
        dict.fromkeys(label for cell in cells for label in cell.iteration_time_us)
        for cells in (first, second)
    )
    for name, mine, theirs in (("A", one, other), ("B", other, one)):
        if alone := [label for label in mine if label not in theirs]:
            yield f"In {name} alone: {', '.join(alone)}."


def _notes(first: SweepAnswer, second: SweepAnswer) -> Iterator[str]:
    one, other = (each.request.model_dump(mode="json") for each in (first, second))
    if one.pop("graph_sha256", None) != other.pop("graph_sha256", None):
        yield "They are of different graphs."
    yield from different("clusters", one.pop("cluster"), other.pop("cluster"))
    yield from different("requests", one, other)
