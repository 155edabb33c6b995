"""A cost model for a reader: its curve, and how far each fit is from the measurements."""

from collections.abc import Iterator

from app.cli.rendering.figures import percent
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.cost_models import CostModelAnswer
from solver.graph import ALL_REDUCE
from solver.wording import exact_size


def render(answer: CostModelAnswer) -> str:
    """Write a cost model as a page of text."""
    return page(_model(answer), _fits(answer), _by_size(answer), answer.notes)


def _model(answer: CostModelAnswer) -> Iterator[str]:
    model = answer.model
    workers = f"{model.workers:,} workers" if model.workers else "workers unknown"
    measured = ", any size" if not model.tables else ""
    measured = ", " + " to ".join(map(exact_size, model.range)) if model.range else measured
    yield f"{answer.name or 'Cost model'}: {model.algorithm}, {workers}{measured}"
    if model.us_per_byte is not None:
        yield f"  {model.constant_us:.6g} us + {model.us_per_byte:.6g} us a byte"
    if (curve := model.piecewise) is not None:
        below, above = f"below {exact_size(curve.threshold_bytes)}", "from there on"
        log = f"{curve.log_us:.6g} us x log2(bytes) {curve.log_constant_us:+.6g} us"
        yield f"  {below}: {log}, {curve.least_us:.6g} us at least"
        yield f"  {above}: {curve.constant_us:.6g} us + {curve.us_per_byte:.6g} us a byte"
    if model.table:
        yield f"  {len(model.table):,} points, linear between them"
    for kind, points in model.tables.items():
        sizes = [bytes_ for bytes_, _ in points]
        measured = f"{exact_size(min(sizes))} to {exact_size(max(sizes))}"
        yield f"  {kind}: {len(points):,} points, {measured}, linear between them"


def _fits(answer: CostModelAnswer) -> Iterator[Line]:
    yield f"Relative error of each fit, on the {answer.samples:,} samples and cross-validated"
    yield table(
        ["fit", "median", "worst", "validated median", "validated worst"],
        [
            [
                fit.algorithm if fit.kind == ALL_REDUCE else f"{fit.algorithm} of {fit.kind}",
                percent(fit.errors.median),
                percent(fit.errors.worst),
                percent(fit.validated.median if fit.validated else None),
                percent(fit.validated.worst if fit.validated else None),
            ]
            for fit in answer.fits
        ],
    )


def _by_size(answer: CostModelAnswer) -> Iterator[Line]:
    chosen = answer.fits[0]
    errors = chosen.validated or chosen.errors
    of = "" if chosen.kind == ALL_REDUCE else f" of {chosen.kind}"
    yield f"{chosen.algorithm}{of} by size{', cross-validated' if chosen.validated else ''}"
    yield table(
        ["from", "samples", "median", "worst"],
        [
            [f"{d.from_bytes:,} B", f"{d.count:,}", percent(d.median), percent(d.worst)]
            for d in errors.decades
        ],
    )
