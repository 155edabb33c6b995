"""What an answer begins with: verdict, figures, limit and next step; in a terminal also a picture.

Colours and the picture are for terminals; elsewhere the same words are plain.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from app.cli.rendering.page import Line, Said, Strip
from solver.evidence.brief import Brief, Limit, helps_most, limit_said
from solver.explanation.critical import WAIT, PathStep
from solver.explanation.sensitivity import Sensitivity
from solver.graph import COMPUTE
from solver.wording import ms

#: Colours of verdicts, as rich names them.
_COLOURS = {"worth_it": "bold green", "too_close": "bold yellow", "unreachable": "bold red"}

#: What ran on the path, and how it is drawn: the same order as in the legend.
_DRAWN = {"compute": ("█", "#", "cyan"), "communication": ("▓", "=", "red"), "wait": ("░", ".", "")}


def first_screen(found: Brief | None, path: Sequence[PathStep] | None) -> Iterator[Line]:
    """Say first what a plan is worth, and draw its critical path where a terminal shows it."""
    if found is None:
        return
    verdict, figures = found.sentence.split(":", 1)
    yield Said(f"{verdict}:{figures}", len(verdict), _COLOURS.get(found.verdict or "", "bold"))
    yield from filter(None, found.sentences[1:])
    yield from _strip(path)


def first_of_simulation(
    title: str,
    iteration_time_us: float,
    exposed_us: float,
    limited_by: Limit | None,
    moved: Sequence[Sensitivity] | None,
    path: Sequence[PathStep] | None,
) -> Iterator[Line]:
    """Say first how long a simulated iteration takes, what limits it and what would help."""
    yield Said(f"{ms(iteration_time_us)}: one iteration with {title}.", 0, "")
    yield from filter(None, [limit_said(limited_by, exposed_us, iteration_time_us)])
    helps = helps_most(moved or (), iteration_time_us)
    if helps:
        yield f"{helps[0].upper()}{helps[1:]}."
    yield from _strip(path)


def _strip(path: Sequence[PathStep] | None) -> Iterator[Line]:
    spans = [(_what(step), step.end_us - step.start_us) for step in path or ()]
    pieces = [
        (what, sum(us for _, us in some)) for what, some in groupby(spans, lambda span: span[0])
    ]
    if sum(us for _, us in pieces) > 0:
        yield Strip("critical path", tuple(pieces), _DRAWN)


def _what(step: PathStep) -> str:
    if step.kind in {COMPUTE, WAIT}:
        return "compute" if step.kind == COMPUTE else "wait"
    return "communication"
