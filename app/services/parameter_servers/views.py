"""A prediction that was kept, as a table, as a plot and as a timeline."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from app.errors import InvalidRequest
from app.limits import MAX_TIMELINE_SERVICES, MAX_TIMELINE_SIMULATED
from app.schemas.parameter_servers import (
    ParameterServerAnswer,
    ParameterServerRequest,
    ParameterServerRequestOut,
)
from app.services.drawing import BOUND, COLOURS, MARKERS, drawn, frame, line, ring, scale
from app.services.parameter_servers.fits import with_fit
from app.services.parameter_servers.steps import prepared_of, services_of, steps_of
from solver.codes import FaultCode
from solver.errors import Fault
from solver.exports.csv_text import csv_text
from solver.graph import Graph
from solver.parameter_server.as_dlc import write_dlc
from solver.parameter_server.prepared import run_of
from solver.parameter_server.record import StepsRun
from solver.parameter_server.steps import ServerStep
from solver.parameter_server.timeline import steps_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Value = TypeVar("Value", int, float)


_COLUMNS = (
    "bandwidth_gbps",
    "workers",
    "examples_per_s",
    "low_examples_per_s",
    "high_examples_per_s",
    "step_us",
    "limited_by",
    "lin_examples_per_s",
    "cynthia_examples_per_s",
    "bound_examples_per_s",
    "services",
)


def table(answer: ParameterServerAnswer) -> str:
    """Write a prediction as CSV: a row for each of its rows, what is unknown empty."""
    names = [use.resource for use in answer.rows[0].utilisation]
    rows = [
        [getattr(row, column) for column in _COLUMNS] + [use.share for use in row.utilisation]
        for row in answer.rows
    ]
    return csv_text([*_COLUMNS, *(f"utilisation_{name}" for name in names)], rows)


def by_workers(answer: ParameterServerAnswer, bandwidth_gbps: float | None) -> bytes:
    """Draw throughput against workers at one bandwidth; None takes the middle one.

    Raises
    ------
    InvalidRequest
        When the prediction does not have such a bandwidth.
    """
    _, bandwidth = place_of(answer.request, None, bandwidth_gbps)
    return drawn(partial(_fill, answer=answer, bandwidth=bandwidth))


def _fill(axes: "Axes", answer: ParameterServerAnswer, bandwidth: float) -> None:
    rows = [row for row in answer.rows if row.bandwidth_gbps == bandwidth]
    (knee,) = [knee for knee in answer.knees if knee.bandwidth_gbps == bandwidth]
    workers = [row.workers for row in rows]
    speeds = [row.examples_per_s for row in rows]
    top = knee.ceiling_examples_per_s
    if top is not None:
        axes.axhline(top, color="#444444", linestyle=":", label="ceiling: the busiest link, full")
    line(
        axes,
        workers,
        [row.bound_examples_per_s for row in rows],
        **BOUND,
        label="simple bound",
    )
    for i, (label, field) in enumerate((("Lin et al.", "lin"), ("Cynthia", "cynthia")), start=1):
        others = [getattr(row, f"{field}_examples_per_s") for row in rows]
        style: dict[str, Any] = {"color": COLOURS[i], "marker": MARKERS[i], "markersize": 5}
        line(axes, workers, others, **style, linewidth=1.2, label=label)
    known = [row for row in rows if row.low_examples_per_s is not None]
    axes.fill_between(
        [row.workers for row in known],
        [row.low_examples_per_s or 0.0 for row in known],
        [row.high_examples_per_s or 0.0 for row in known],
        color=COLOURS[0],
        alpha=0.25,
        linewidth=0,
        label="95 % interval",
    )
    style = {"color": COLOURS[0], "marker": MARKERS[0], "markersize": 7, "linewidth": 2.5}
    line(axes, workers, speeds, **style, label="simulated")
    here = [(row.workers, row.examples_per_s) for row in rows if row.workers == knee.workers]
    ring(axes, here, "from here on, 1 % more for sure at most")
    axes.set_xscale(scale(workers))
    axes.set_yscale(scale([*speeds, *([] if top is None else [top])]))
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)
    title = answer.name or "Parameter servers"
    batch = f"batches of {answer.request.batch_size:,}"
    frame(axes, f"{title}: {bandwidth:g} Gbit/s, {batch}", "workers", "examples/s", workers)


def place_of(
    request: ParameterServerRequest | ParameterServerRequestOut,
    workers: int | None,
    bandwidth_gbps: float | None,
) -> tuple[int, float]:
    """Return the workers and the bandwidth of a row; None takes the middle ones.

    Raises
    ------
    InvalidRequest
        When the prediction does not have such a value.
    """
    return (
        _value("workers", sorted(request.workers), workers),
        _value("bandwidth_gbps", sorted(request.bandwidths_gbps), bandwidth_gbps),
    )


class Shown(NamedTuple):
    """Some steps of each worker of a row: the steps as they are run, and the run."""

    steps: tuple[ServerStep, ...]
    run: StepsRun


def timeline(shown: Shown) -> dict[str, Any]:
    """Lay out the steps of a row as a Chrome trace."""
    return steps_trace(*shown)


def traces(shown: Shown) -> dict[str, str]:
    """Write the steps of a row as DLC traces, a file a node."""
    return write_dlc(*shown)


def simulated_again(
    graph: Graph | None,
    request: ParameterServerRequest,
    *,
    workers: int | None,
    bandwidth_gbps: float | None,
    from_step: int,
    steps: int,
) -> Shown:
    """Simulate one row again, and record some steps of each worker.

    Parameters
    ----------
    graph, request
        What the prediction was made of.
    workers, bandwidth_gbps
        Which row; None for the middle values.
    from_step, steps
        The first step of each worker, from 0, and how many.

    Raises
    ------
    InvalidRequest
        When there is no such row or step, or they take too many services.
    """
    request, _ = with_fit(request)
    count, bandwidth = place_of(request, workers, bandwidth_gbps)
    end = from_step + steps
    if end > request.simulated_steps:
        detail = f"Steps {from_step:,} to {end - 1:,}: {request.simulated_steps:,} were simulated."
        raise InvalidRequest([Fault("/query/from_step", FaultCode.OUT_OF_RANGE, detail)])
    prepared, options = prepared_of(steps_of(graph, request), request), request.to_options()
    each = services_of(prepared, options.win_bytes)
    for most, many, field, what in (
        (MAX_TIMELINE_SERVICES, steps, "steps", "shown"),
        (MAX_TIMELINE_SIMULATED, end, "from_step", "simulated for a timeline"),
    ):
        if (work := count * each * many) > most:
            detail = (
                f"{many:,} steps of {count:,} workers take about {work:,.0f} services; at most "
                f"{most:,} are {what}. Ask for earlier or fewer steps, or for fewer workers."
            )
            raise InvalidRequest([Fault(f"/query/{field}", FaultCode.OUT_OF_RANGE, detail)])
    run = run_of(prepared, options, bandwidth, count, range(from_step, end), only_recorded=True)
    return Shown(prepared, run)


def _value(name: str, known: Sequence[Value], asked: float | None) -> Value:
    """Return the value of a prediction that was asked for, else the middle one."""
    if asked is None:
        return known[len(known) // 2]
    if asked not in known:
        have = ", ".join(f"{value:g}" for value in known)
        detail = f"Query parameter {name}: the prediction has {have}; got {asked:g}."
        raise InvalidRequest([Fault(f"/query/{name}", FaultCode.OUT_OF_RANGE, detail)])
    return known[known.index(asked)]
