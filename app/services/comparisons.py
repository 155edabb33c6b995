"""Two plans side by side: figures, what each is of, and which buckets changed."""

from dataclasses import dataclass

from app.schemas.plans import PlanAnswer
from solver.units import same


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A figure of both plans.

    Attributes
    ----------
    name, unit
        What it is, and in what.
    first, second
        Of both; None where it is not known.
    """

    name: str
    unit: str
    first: float | None
    second: float | None


@dataclass(frozen=True, slots=True)
class ChangedBucket:
    """A bucket that one plan has and the other has not.

    Attributes
    ----------
    id, tensors, bytes
        Its name there, how many tensors, and how large [bytes].
    is_second
        Whether the second plan has it.
    """

    id: str
    tensors: int
    bytes: int
    is_second: bool


@dataclass(frozen=True, slots=True)
class ComparedPlans:
    """Two plans side by side.

    Attributes
    ----------
    sentence
        Which is faster, and by how much.
    notes
        In what they differ besides: graph, cluster, options.
    figures
        Of both.
    alike
        How many buckets both have: the same tensors, whatever they are called.
    changed
        The buckets that one has alone, in the order of their plans.
    is_reordered
        Whether the buckets that both have are sent in another order.
    """

    sentence: str
    notes: tuple[str, ...]
    figures: tuple[ComparedFigure, ...]
    alike: int
    changed: tuple[ChangedBucket, ...]
    is_reordered: bool


def compared(first: PlanAnswer, second: PlanAnswer) -> ComparedPlans:
    """Compare two plans; O(tensors + launches)."""
    sets = [{frozenset(bucket.tensors) for bucket in plan.buckets} for plan in (first, second)]
    both = sets[0] & sets[1]
    changed = [
        ChangedBucket(bucket.id, len(bucket.tensors), bucket.bytes, is_second)
        for plan, is_second in ((first, False), (second, True))
        for bucket in plan.buckets
        if frozenset(bucket.tensors) not in both
    ]
    orders = [[each for each in _sent(plan) if each in both] for plan in (first, second)]
    return ComparedPlans(
        _sentence(first.iteration_time_us, second.iteration_time_us),
        tuple(_notes(first, second)),
        _figures(first, second),
        len(both),
        tuple(changed),
        orders[0] != orders[1],
    )


def _sent(plan: PlanAnswer) -> list[frozenset[str]]:
    """List buckets by their first launches."""
    tensors = {bucket.id: frozenset(bucket.tensors) for bucket in plan.buckets}
    return [tensors[name] for name in dict.fromkeys(part.bucket for part in plan.schedule.parts)]


def _sentence(first: float, second: float) -> str:
    if same(first, second):
        return f"Both take {first / 1e3:,.3f} ms."
    less, word = abs(first - second), "less" if second < first else "more"
    share = f" ({100 * less / first:.1f} %)" if first > 0 else ""
    return f"The second takes {less / 1e3:,.3f} ms{share} {word} than the first."


def _notes(first: PlanAnswer, second: PlanAnswer) -> list[str]:
    one, other = first.request, second.request
    notes = []
    if one.graph_sha256 != other.graph_sha256:
        notes.append("They are of different graphs.")
    for what in ("cluster", "options"):
        mine, theirs = (getattr(each, what).model_dump(mode="json") for each in (one, other))
        names = [name for name in mine if mine[name] != theirs.get(name)]
        if names:
            said = ", ".join(
                f"{name} {_value(mine[name])} and {_value(theirs.get(name))}" for name in names
            )
            notes.append(f"Their {what} differ: {said}.")
    return notes


def _value(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else f"{value}"
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004 - a note is a line


def _figures(first: PlanAnswer, second: PlanAnswer) -> tuple[ComparedFigure, ...]:
    def row(name: str, unit: str, scale: float, *path: str) -> ComparedFigure:
        found = []
        for plan in (first, second):
            value: object = plan
            for step in path:
                value = None if value is None else getattr(value, step)
            found.append(value * scale if isinstance(value, int | float) else None)
        return ComparedFigure(name, unit, *found)

    return (
        row("what you run", "ms", 1e-3, "brief", "today_us"),
        row("this plan", "ms", 1e-3, "iteration_time_us"),
        row("lower bound", "ms", 1e-3, "lower_bound_us"),
        row("compute alone", "ms", 1e-3, "compute_time_us"),
        row("exposed", "ms", 1e-3, "exposed_us"),
        row("gain", "%", 100.0, "brief", "gain"),
        ComparedFigure("buckets", "", float(len(first.buckets)), float(len(second.buckets))),
        ComparedFigure(
            "launches", "", float(len(first.schedule.parts)), float(len(second.schedule.parts))
        ),
        row("peak memory", "GiB", 2.0**-30, "peak_bytes"),
    )
