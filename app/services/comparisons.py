"""Two answers side by side, for command, page and API: figures, notes, and changed buckets."""

from collections.abc import Mapping
from typing import Any

from app.schemas.comparisons import AnswerComparison, ChangedBucket, ComparedFigure
from app.schemas.plans import PlanAnswer
from app.schemas.schedules import BucketOut
from app.schemas.simulations import SimulationAnswer
from solver.units import same
from solver.wording import ms

Answer = PlanAnswer | SimulationAnswer

#: Starts and ends that differ by less than this share of the longer iteration are the same.
_NEAR = 1e-6


def compared(first: Answer, second: Answer) -> AnswerComparison:
    """Compare two answers; O(tensors + launches), and sorted."""
    one, other = ({frozenset(b.tensors) for b in each.buckets} for each in (first, second))
    both = one & other
    orders = [[key for key in _sent(each) if key in both] for each in (first, second)]
    figures = _figures(first, second)
    return AnswerComparison(
        sentence=_sentence(first, second),
        notes=_notes(first, second),
        figures=[each for each in figures if (each.first, each.second) != (None, None)],
        alike=len(both),
        changed=_changed(first, second),
        is_reordered=orders[0] != orders[1],
    )


def _sent(answer: Answer) -> list[frozenset[str]]:
    """List buckets by their first launches."""
    tensors = {bucket.id: frozenset(bucket.tensors) for bucket in answer.buckets}
    return [tensors[name] for name in dict.fromkeys(part.bucket for part in answer.schedule.parts)]


def _spans(answer: Answer) -> dict[frozenset[str], tuple[BucketOut, float, float]]:
    """Return each bucket by its tensors, with when it starts and ends [us]."""
    spans: dict[str, tuple[float, float]] = {}
    for part in answer.schedule.parts:
        start, end = spans.get(part.bucket, (part.start_us, part.end_us))
        spans[part.bucket] = min(start, part.start_us), max(end, part.end_us)
    return {
        frozenset(each.tensors): (each, *spans[each.id])
        for each in answer.buckets
        if each.id in spans
    }


def _changed(first: Answer, second: Answer) -> list[ChangedBucket]:
    """List the buckets of one alone, and those of both that start or end elsewhere."""
    one, other = _spans(first), _spans(second)
    near = _NEAR * max(first.iteration_time_us, second.iteration_time_us)
    rows = []
    for key in dict.fromkeys((*one, *other)):
        mine, theirs = one.get(key), other.get(key)
        if mine and theirs and max(abs(mine[1] - theirs[1]), abs(mine[2] - theirs[2])) <= near:
            continue
        bucket = (mine or other[key])[0]
        rows.append(
            ChangedBucket(
                id=bucket.id,
                tensors=bucket.tensors,
                bytes=bucket.bytes,
                held_by="second" if mine is None else "first" if theirs is None else "both",
                first_start_us=mine and mine[1],
                second_start_us=theirs and theirs[1],
            )
        )
    return sorted(rows, key=_start)


def _start(row: ChangedBucket) -> float:
    starts = (row.first_start_us, row.second_start_us)
    return next(start for start in starts if start is not None)


def _sentence(first: Answer, second: Answer) -> str:
    before, after = first.iteration_time_us, second.iteration_time_us
    if same(before, after):
        return f"Both take {ms(before)}."
    less, word = abs(before - after), "less" if after < before else "more"
    share = f" ({100 * less / before:.1f} %)" if before > 0 else ""
    return f"B takes {ms(less)}{share} {word} than A."


def _notes(first: Answer, second: Answer) -> list[str]:
    one, other = first.request, second.request
    notes = []
    if one.graph_sha256 != other.graph_sha256:
        notes.append("They are of different graphs.")
    for what, said_of in (("cluster", "clusters"), ("options", "options")):
        mine, theirs = (getattr(each, what).model_dump(mode="json") for each in (one, other))
        notes += different(said_of, mine, theirs)
    return notes


def different(what: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Say which fields of two of a kind differ, in one note or none."""
    names = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    said = ", ".join(f"{name} {_value(mine[name])} and {_value(theirs[name])}" for name in names)
    return [f"Their {what} differ: {said}."] if names else []


def _value(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else f"{value}"
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004 - a note is a line


def _figures(first: Answer, second: Answer) -> list[ComparedFigure]:
    def row(name: str, unit: str, scale: float, *path: str) -> ComparedFigure:
        values = []
        for answer in (first, second):
            value: object = answer
            for step in path:
                value = getattr(value, step, None)
            values.append(value * scale if isinstance(value, int | float) else None)
        return ComparedFigure(name=name, unit=unit, first=values[0], second=values[1])

    def count(name: str, one: int, other: int) -> ComparedFigure:
        return ComparedFigure(name=name, unit="", first=one, second=other)

    return [
        row("what you run", "ms", 1e-3, "brief", "today_us"),
        row("iteration time", "ms", 1e-3, "iteration_time_us"),
        row("lower bound", "ms", 1e-3, "lower_bound_us"),
        row("gap", "%", 100.0, "gap"),
        row("compute alone", "ms", 1e-3, "compute_time_us"),
        row("exposed", "ms", 1e-3, "exposed_us"),
        row("hidden", "%", 100.0, "overlap"),
        row("gain", "%", 100.0, "brief", "gain"),
        count("buckets", len(first.buckets), len(second.buckets)),
        count("launches", len(first.schedule.parts), len(second.schedule.parts)),
        row("peak memory", "GiB", 2.0**-30, "peak_bytes"),
    ]
