"""What a ranking of shapes rests on, in sentences."""

from collections.abc import Iterator, Sequence

from app.services.shape_plans import PLANS
from solver.shapes.fit.as_run import TableRun
from solver.shapes.fit.shape_fit import FEW_ROWS, Outlier, ShapeFit
from solver.shapes.kernels import MeasuredKernels
from solver.shapes.pipeline.orders import ORDERS
from solver.shapes.ranking.first_answers import BOUNDS
from solver.shapes.ranking.rank import MEMORY_SHARE, SIMULATION
from solver.shapes.ranking.ranked import RankedShape, ShapeRanking
from solver.shapes.ranking.space import RuledOut
from solver.wording import memory_size

#: So many outliers are named.
_NAMED = 5


def notes_of(
    ranking: ShapeRanking,
    fit: ShapeFit | None,
    stated: frozenset[str],
    out: Sequence[RuledOut],
    kernels: MeasuredKernels | None,
    schedules: Sequence[str],
    stopped: str | None = None,
) -> Iterator[str]:
    """Yield what was assumed, what the proof is of, and which choices no shape has.

    ``schedules`` are those of the space; ``stopped`` is the phase that a ranking did not get
    beyond.
    """
    yield from _proof(ranking)
    yield from _not_done(ranking, stopped)
    yield from _left_out(out)
    yield from _other_schedules(ranking, schedules)
    yield from _overlaps(ranking)
    if fit is None:
        yield (
            "No measured step was given: figures of the machine are stated or assumed, and times "
            "may be far off. Ten rows are useful, a hundred good."
        )
    else:
        open_figures = [figure.name for figure in fit.figures if not figure.is_determined]
        if open_figures:
            yield f"Not determined by the rows: {', '.join(open_figures)}."
        yield from map(_run_said, fit.runs)
        yield from _outliers(fit.outliers)
        if stated:
            yield f"Stated figures give way to the rows: {', '.join(sorted(stated))}."
        if fit.rows < FEW_ROWS:
            yield (
                "Intervals from so few rows are rough, though widened by errors of rows left out."
            )
        yield (
            "The proof is of the simulated time: what the rows add to it has no bound, so that the "
            "best prediction may be another shape's, and nothing is proven of it."
        )
    if kernels is not None:
        yield (
            f"Multiplications reach what {len(kernels.matmuls):,} measured ones of "
            f"{kernels.precision} do, attention what {len(kernels.attention):,} do; other sizes "
            "what the four nearest do."
        )
    anew = (
        "" if kernels is not None and kernels.attention else ", what flash attention computes anew"
    )
    yield (
        f"Left out, so that times flatter: congestion between groups, slow ranks{anew}. "
        "Collectives within a layer count as if nothing overlapped them."
    )
    yield (
        f"Shapes may use {MEMORY_SHARE:.0%} of the memory; the allocator's fragments are not "
        "counted."
    )


def _other_schedules(ranking: ShapeRanking, schedules: Sequence[str]) -> Iterator[str]:
    """Say which schedules no shape has, where one is a pipeline."""
    others = [each for each in ORDERS if each not in schedules]
    if others and any(each.shape.pp > 1 for each in (*ranking.best, *ranking.front)):
        yield (
            f"This space has no pipelines of the schedules {', '.join(others)}, which may be "
            "faster: `schedules` says which are looked at."
        )


def _overlaps(ranking: ShapeRanking) -> Iterator[str]:
    """Say that shapes which overlap what they send stand before others which might."""
    ranked = [*ranking.best, *ranking.front]
    if not ranked or ranked[0].shape.overlapped_buckets > 1:
        return
    first = ranked[0]
    might = {each.shape: each.step.time_us - _sums_us(each) for each in ranked if _sums_us(each)}
    other = min(might, key=might.__getitem__, default=None)
    if first.shape.sharding == "parameters" and other and might[other] < first.step.time_us:
        yield (
            "Sums of gradients are counted after the last pass, and sharded parameters beside "
            f"passes: a program that overlaps both may run another shape faster, such as {other}. "
            "Set `overlapped_buckets`, say to 8, to rank them so."
        )


def _sums_us(ranked: RankedShape) -> float:
    """Return what of a step is sums of gradients after its last pass [us]."""
    return dict(ranked.step.exposed)["data"]


def _run_said(run: TableRun) -> str:
    """Say how measured steps that do not fit in memory are taken to have been run."""
    ways = [
        f"{name} {value}"
        for name, value in (("sharding", run.sharding), ("recomputation", run.recomputation))
        if value != "none"
    ]
    which = "all" if run.is_whole else "these"
    taken = f"where they do not say otherwise, {which} are taken to have {' and '.join(ways)}"
    still = f"{run.left:,} do not fit even so"
    said = [*([taken] if ways else []), *([still] if run.left else [])]
    return (
        f"{run.over:,} of {run.rows:,} measured steps on {' and '.join(run.networks)} do not fit "
        f"in memory as they are given: {'; '.join(said)}. Give each row its `sharding` and "
        "`recomputation`."
    )


def _outliers(found: Sequence[Outlier]) -> Iterator[str]:
    """Name the measured steps that the others do not explain."""
    if not found:
        return
    each = [
        f"{outlier.row + 1} ({abs(outlier.excess):.0%} {'more' if outlier.excess > 0 else 'less'})"
        for outlier in found[:_NAMED]
    ]
    more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    yield (
        f"Measured steps that took far more or less time than the others tell, counted from 1: "
        f"{', '.join(each)}{more}. Measure them again, or leave them out if something disturbed "
        "them."
    )


def _left_out(parts: Sequence[RuledOut]) -> Iterator[str]:
    """Yield which choices no shape has, and why."""
    if parts:
        said = (
            f"{each.part} {', '.join(map(str, each.choices))} (must {each.rule})" for each in parts
        )
        yield f"Ruled out: {'; '.join(said)}."


def _proof(ranking: ShapeRanking) -> Iterator[str]:
    """Yield what is proven of the shapes, and which are not known."""
    if ranking.least_memory_bytes is None:
        yield (
            "No combination of the choices divides the model, uses all GPUs and keeps the batch."
        )
    elif ranking.too_large == ranking.shapes:
        least = memory_size(ranking.least_memory_bytes, 1)
        yield f"No shape of the space fits in memory: the least needs {least}."
    elif not ranking.best:
        yield (
            "No shape was simulated: all have too many passes. Larger micro-batches or a smaller "
            "global batch have fewer."
        )
    elif ranking.is_proven:
        yield (
            "Proven: no shape of this space has a shorter simulated step, under the figures taken "
            "of the machine."
        )
    elif ranking.lower_bound_us is not None:
        gap = ranking.best[0].step.time_us / ranking.lower_bound_us - 1
        yield f"Not proven: a shape that was not simulated may be {gap:.1%} faster, not more."


def _not_done(ranking: ShapeRanking, stopped: str | None) -> Iterator[str]:
    """Yield what was left out as too much work, or when the ranking was stopped."""
    if stopped == BOUNDS:
        yield (
            f"Stopped while shapes got their bounds: {ranking.shapes:,} were looked at, "
            f"{ranking.simulated:,} of them simulated. Any other may be faster."
        )
    elif stopped == SIMULATION:
        yield (
            f"Stopped before its end: {ranking.cut:,} shapes to come may belong among those given, "
            "others on the front."
        )
    elif ranking.best and ranking.cut:
        yield (
            f"{ranking.cut:,} shapes were not simulated, as too much work: they may belong among "
            "the others given."
        )
    if stopped == PLANS:
        yield "Stopped before all plans inside the best shapes were made."
