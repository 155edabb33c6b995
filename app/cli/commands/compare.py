"""Compare two plans."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.failures import CommandFailure, explaining
from app.cli.options import AsJson, ServerUrl, content, server_at

if TYPE_CHECKING:
    from app.cli.remote import Server
    from app.schemas.plans import PlanAnswer

_WHAT = "The JSON that plan --json prints, what interlace plan takes, or with --server a plan's id."


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=_WHAT)],
    second: Annotated[str, typer.Argument(metavar="B", help="The other one, likewise.")],
    server: ServerUrl = None,
    json_: AsJson = False,
) -> None:
    """Compare two plans: times, buckets, what differs.

    A graph, a request or a trace is planned first, as interlace plan does.

    \b
    Examples:
      interlace compare plan.json graph.json
    """
    from app.cli.rendering.comparisons import render
    from app.services.comparisons import compared

    at = server_at(server)
    found = compared(*(_plan(name, at) for name in (first, second)))
    names = (f"A: {_short(first)}", f"B: {_short(second)}")
    print(found.model_dump_json(indent=1) if json_ else render(found, names))


def _short(name: str) -> str:
    return Path(name).name[-24:] if name != "-" else "standard input"


def _plan(name: str, at: "Server | None") -> "PlanAnswer":
    """Read a plan, ask for it by its id, or make it."""
    from app.schemas.plans import PlanAnswer

    if at is not None and name != "-" and not Path(name).exists():
        return at.read_plan(name)
    called, raw = content(name)
    try:
        known = json.loads(raw)
    except ValueError:
        known = None
    if isinstance(known, dict) and {"buckets", "schedule", "iteration_time_us"} <= known.keys():
        fields = {key: known[key] for key in PlanAnswer.model_fields if key in known}
        try:
            return PlanAnswer.model_validate_json(json.dumps(fields))
        except ValueError as error:
            raise CommandFailure(f"{called}: is no plan of this version: {error}") from None
    from app.cli import local
    from app.cli.files import GraphSource, read_plan

    with explaining(called, {}):
        problem, _ = read_plan(GraphSource(called, [raw], {}), {}, [], {})
        return at.plan(problem) if at else local.plan(problem, in_lines=False)[0]
