"""Say how large the tensors of a graph are."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.extras import check_extra
from app.cli.failures import explaining
from app.cli.options import AsJson, Device, Files, Parameters, Rank, Step, contents, present


def sizes(
    files: Files,
    step: Step = None,
    parameters: Parameters = None,
    rank: Rank = None,
    device: Device = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Draw the shares of tensors and bytes up to each size."),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Count the tensors of a graph by size.

    Small ones cost a start-up each for few bytes, large ones hold others up: fusion and parts are
    for them.

    \b
    Examples:
      interlace sizes graph.json
      interlace example transformer | interlace sizes - --svg sizes.svg
      interlace sizes rank*.json.gz --parameters parameters.json --json
    """
    from pydantic import TypeAdapter

    from app.cli import flags
    from app.cli.files import GraphSource, read_simulation
    from app.cli.rendering.sizes import render
    from app.services.size_plots import size_plot
    from solver.explanation.tensor_sizes import TensorSizes, tensor_sizes

    check_extra("--svg", "plots", is_taken=svg is not None)
    if svg is not None and svg.suffix.lower() not in {"", ".svg"}:
        raise typer.BadParameter(f"{svg} would hold SVG: name it .svg", param_hint="--svg")
    names, name, raw = contents(files)
    given = present(step=step, parameters=parameters, rank=rank, device=device)
    with explaining(names, given):
        source = GraphSource(
            name,
            raw,
            flags.network(None, None, None, None, extrapolate=False, compute_slowdown=None),
            step=step,
            parameters=flags.parameters(parameters),
            rank=flags.rank(rank),
            device=device,
        )
        graph = read_simulation(source, {}).graph
        found = tensor_sizes(graph)
        if svg is not None:
            svg.write_bytes(size_plot(f"Tensor sizes of {graph.name}", found))
    if json_:
        print(TypeAdapter(tuple[TensorSizes, ...]).dump_json(found, indent=1).decode())
    else:
        print(render(graph.name, found))
