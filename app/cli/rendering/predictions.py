"""Predictions for a reader: scaling factors, a row for each number of workers."""

from app.cli.rendering.explanations import rests_on, warnings
from app.cli.rendering.figures import factor
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.predictions import PredictionAnswer
from solver.prediction.scaling import ScalingRow
from solver.wording import exact_size, ms

_LEGEND = (
    "OSF's recursion: CSF, all in one all-reduce, no overlap; OSF, each tensor alone; buffers "
    "that wait for the next tensor. The others are simulated. No plan beats the bound."
)


def render(answer: PredictionAnswer, name: str) -> str:
    """Write predictions as a page of text."""
    title = "scaling factor, the next forward pass waiting for all sums"
    compute = f"Compute takes {ms(answer.rows[0].t_comp_us)}."
    why_not = (
        [f"CSF, OSF and buffers are unknown: {answer.why_no_osf}"] if answer.why_no_osf else []
    )
    return page(
        [f"{name or 'Unnamed graph'}: {title}"],
        rests_on(answer.evidence),
        [_rows(answer)],
        [*(why_not or [_LEGEND]), compute, *answer.notes],
        warnings(answer.warnings),
    )


def _rows(answer: PredictionAnswer) -> Line:
    buffers = [f"buffer {exact_size(f.buffer_bytes)}" for f in answer.rows[0].osf_fusion]
    simulated = ["DDP", "Horovod", "adaFusion", "MG-WFBP", "plan", "bound"]
    return table(["workers", "CSF", "OSF", *buffers, *simulated], map(_row, answer.rows))


def _row(row: ScalingRow) -> list[str]:
    factors = [
        row.csf,
        row.osf,
        *(fused.factor for fused in row.osf_fusion),
        row.ddp,
        row.horovod,
        row.ada_fusion.factor,
        row.mg_wfbp,
        row.plan,
        row.bound,
    ]
    return [f"{row.workers:,}", *map(factor, factors)]
