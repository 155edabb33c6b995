"""Estimates for a reader: the figures that iteration times tell, and all rows simulated."""

from collections.abc import Iterator

from app.cli.rendering.figures import percent
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.estimates import EstimateAnswer, ParameterOut


def render(answer: EstimateAnswer) -> str:
    """Write an estimate as a page of text."""
    return page(answer.summary, _parameters(answer), _reasons(answer), _rows(answer))


def _parameters(answer: EstimateAnswer) -> Iterator[Line]:
    yield table(
        ["figure", "value", "error", "used"],
        [
            [
                _label(each),
                "-" if each.value is None else f"{each.value:.4g}",
                percent(each.error),
                f"{each.used:.4g}",
            ]
            for each in answer.parameters
        ],
    )


def _reasons(answer: EstimateAnswer) -> Iterator[Line]:
    for each in answer.parameters:
        if each.reason is not None:
            yield f"{_label(each)}: {each.reason}"


def _rows(answer: EstimateAnswer) -> Iterator[Line]:
    yield "From and to hold nine of ten measured times."
    several = len({row.network for row in answer.rows}) > 1
    yield table(
        [
            "model",
            "workers",
            "policy",
            *["network"] * several,
            "measured ms",
            "simulated ms",
            "from",
            "to",
            "error",
        ],
        [
            [
                row.model,
                f"{row.workers:,}",
                row.policy,
                *[row.network] * several,
                "-" if row.measured_us is None else f"{row.measured_us / 1e3:.3f}",
                f"{row.time_us / 1e3:.3f}",
                f"{row.low_us / 1e3:.3f}",
                f"{row.high_us / 1e3:.3f}",
                "-" if row.error is None else f"{100 * row.error:+.2f} %",
            ]
            for row in answer.rows
        ],
    )


def _label(each: ParameterOut) -> str:
    return f"{each.name} of {each.subject}" if each.subject else each.name
