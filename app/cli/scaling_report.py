"""Predictions, sweeps and cost models for a reader."""

from collections.abc import Iterator

from app.cli.report import warned
from app.cli.text_table import factor, percent, size, table
from app.schemas.cost_models import CostModelAnswer
from app.schemas.predictions import PredictionAnswer
from app.schemas.sweeps import SweepAnswer


def render_prediction(answer: PredictionAnswer, name: str) -> str:
    """Write predictions as a page of text."""
    return _page(_predicted(answer, name), warned(answer.warnings))


def render_sweep(answer: SweepAnswer) -> str:
    """Write a sweep as a page of text: a row for each cell, then what follows from it."""
    return _page(_cells(answer), iter(answer.summary), warned(answer.warnings))


def _cells(answer: SweepAnswer) -> Iterator[str]:
    yield f"{answer.name or 'Unnamed graph'}: time of one iteration [ms], the fastest marked *"
    yield ""
    labels = [policy.label for policy in answer.policies]
    heads = ["workers", "Gbit/s", "start-up us", *labels, "bound", "speed"]
    yield from table(
        heads,
        (
            [
                f"{cell.workers:,}{'~' if cell.extrapolated else ''}",
                "-" if cell.bandwidth_gbps is None else f"{cell.bandwidth_gbps:g}",
                f"{cell.startup_us:g}",
                *(
                    "-" if time is None else f"{'*' if label == cell.best else ''}{time / 1e3:.3f}"
                    for label, time in cell.iteration_time_us.items()
                ),
                f"{cell.lower_bound_us / 1e3:.3f}",
                "-" if cell.speed is None else f"{cell.speed:.1f}",
            ]
            for cell in answer.cells
        ),
    )
    yield ""
    yield "speed: of the fastest, in workers that never wait"
    if any(cell.extrapolated for cell in answer.cells):
        yield "~: scaled from measurements with other workers or another bandwidth"


def render_cost_model(answer: CostModelAnswer) -> str:
    """Write a cost model as a page of text."""
    return _page(_model(answer), _fits(answer), iter(answer.notes))


def _model(answer: CostModelAnswer) -> Iterator[str]:
    model = answer.model
    workers = f"{model.workers:,} workers" if model.workers else "workers unknown"
    measured = " to ".join(map(size, model.range)) if model.range else "any size"
    yield f"{answer.name or 'Cost model'}: {model.algorithm}, {workers}, {measured}"
    if model.us_per_byte is not None:
        yield f"  {model.constant_us:.6g} us + {model.us_per_byte:.6g} us a byte"
    if (curve := model.piecewise) is not None:
        below, above = f"below {size(curve.threshold_bytes)}", "from there on"
        log = f"{curve.log_us:.6g} us x log2(bytes) {curve.log_constant_us:+.6g} us"
        yield f"  {below}: {log}, {curve.least_us:.6g} us at least"
        yield f"  {above}: {curve.constant_us:.6g} us + {curve.us_per_byte:.6g} us a byte"
    if model.table:
        yield f"  {len(model.table):,} points, linear between them"


def _fits(answer: CostModelAnswer) -> Iterator[str]:
    yield f"Relative error of each fit, on the {answer.samples:,} samples and cross-validated"
    rows = [
        [
            fit.algorithm,
            percent(fit.errors.median),
            percent(fit.errors.worst),
            percent(fit.validated.median if fit.validated else None),
            percent(fit.validated.worst if fit.validated else None),
        ]
        for fit in answer.fits
    ]
    heads = ["fit", "median", "worst", "validated median", "validated worst"]
    yield from table(heads, rows)
    yield ""
    chosen = answer.fits[0]
    found = chosen.validated or chosen.errors
    yield f"{chosen.algorithm} by size{', cross-validated' if chosen.validated else ''}"
    yield from table(
        ["from", "samples", "median", "worst"],
        (
            [f"{d.from_bytes:,} B", f"{d.count:,}", percent(d.median), percent(d.worst)]
            for d in found.decades
        ),
    )


def _predicted(answer: PredictionAnswer, name: str) -> Iterator[str]:
    rows = answer.rows
    yield f"{name or 'Unnamed graph'}: scaling factor, the next forward pass waiting for all sums"
    yield ""
    buffers = [f"buffer {size(f.buffer_bytes)}" for f in rows[0].osf_fusion]
    heads = [
        "workers",
        "CSF",
        "OSF",
        *buffers,
        "DDP",
        "Horovod",
        "adaFusion",
        "MG-WFBP",
        "plan",
        "bound",
    ]
    yield from table(
        heads,
        (
            [
                f"{row.workers:,}",
                *map(
                    factor,
                    [
                        row.csf,
                        row.osf,
                        *(found.factor for found in row.osf_fusion),
                        row.ddp,
                        row.horovod,
                        row.ada_fusion.factor,
                        row.mg_wfbp,
                        row.plan,
                        row.bound,
                    ],
                ),
            ]
            for row in rows
        ),
    )
    yield ""
    yield "OSF's recursion: CSF, all in one all-reduce, no overlap; OSF, each tensor alone; buffers"
    yield "that wait for the next tensor. The others are simulated. No plan beats the bound."
    yield f"Compute takes {rows[0].t_comp_us / 1e3:.3f} ms."


def _page(*parts: Iterator[str]) -> str:
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part)))
