"""Compare two plans, or two sweeps."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.failures import CommandFailure, explaining
from app.cli.options import AsJson, ServerUrl, content, server_at

if TYPE_CHECKING:
    from app.cli.remote import Server
    from app.schemas.plans import PlanAnswer
    from app.schemas.sweeps import SweepAnswer

_WHAT = (
    "The JSON that plan --json or sweep --json prints, what interlace plan takes, or with --server "
    "the id of either."
)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=_WHAT)],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one, likewise.")],
    server: ServerUrl = None,
    json_: AsJson = False,
) -> None:
    """Compare two plans, or two sweeps: times, what differs.

    A graph, a request or a trace is planned first, as interlace plan does.

    \b
    Examples:
      interlace compare plan.json graph.json
      interlace compare before.sweep.json after.sweep.json
    """
    from app.cli.rendering.comparisons import render, render_sweeps
    from app.schemas.sweeps import SweepAnswer
    from app.services.comparisons import compared
    from app.services.sweeps.compared import compared_sweeps

    at = server_at(server)
    one, other = (_answer(name, at) for name in (first, second))
    names = (f"A: {_short(first)}", f"B: {_short(second)}")
    if isinstance(one, SweepAnswer) and isinstance(other, SweepAnswer):
        swept = compared_sweeps(one, other)
        print(swept.model_dump_json(indent=1) if json_ else render_sweeps(swept))
        return
    if isinstance(one, SweepAnswer) or isinstance(other, SweepAnswer):
        raise CommandFailure("a sweep is compared with a sweep, a plan with a plan")
    found = compared(one, other)
    print(found.model_dump_json(indent=1) if json_ else render(found, names))


def _short(name: str) -> str:
    return Path(name).name[-24:] if name != "-" else "standard input"


def _answer(name: str, at: "Server | None") -> "PlanAnswer | SweepAnswer":
    """Read a plan or a sweep, ask for it by its id, or make a plan."""
    from app.schemas.plans import PlanAnswer
    from app.schemas.sweeps import SweepAnswer

    if at is not None and name != "-" and not Path(name).exists():
        return at.read_compared(name)
    called, raw = content(name)
    try:
        known = json.loads(raw)
    except ValueError:
        known = None
    for kind, what, has in (
        (PlanAnswer, "plan", {"buckets", "schedule", "iteration_time_us"}),
        (SweepAnswer, "sweep", {"cells", "axes", "knees"}),
    ):
        if isinstance(known, dict) and has <= known.keys():
            fields = {key: known[key] for key in kind.model_fields if key in known}
            try:
                return kind.model_validate_json(json.dumps(fields))
            except ValueError as error:
                raise CommandFailure(f"{called}: is no {what} of this version: {error}") from None
    from app.cli import local
    from app.cli.files import GraphSource, read_plan

    with explaining(called, {}):
        problem, _ = read_plan(GraphSource(called, [raw], {}), {}, [], {})
        return at.plan(problem) if at else local.plan(problem, in_lines=False)[0]
