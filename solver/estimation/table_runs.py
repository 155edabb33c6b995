"""Rows of a table of iteration times as runs: models and graphs in the place of their names."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature

from solver.chain import chain_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph, InvalidMeasurements
from solver.estimation.runs import MeasuredRun, waits
from solver.estimation.times_table import TimesRow
from solver.graph import Graph, first_of
from solver.models import MODELS
from solver.policies.choice import Choice, choice_faults


def runs_of(rows: Sequence[TimesRow], graphs: Mapping[str, Graph]) -> tuple[MeasuredRun, ...]:
    """Put graphs and models in the place of their names.

    Raises
    ------
    InvalidMeasurements
        With every row that names an unknown model or graph, gives both or neither, gives a
        throughput without a batch or beside a time, or whose policy is wrong.
    """
    runs: list[MeasuredRun] = []
    made: dict[tuple[str, int | None, int | None], Graph] = {}

    def faults() -> Iterator[Fault]:
        for i, row in enumerate(rows):
            found = list(_row_faults(row, graphs))
            key = row.model or row.graph or "", row.batch, row.tokens
            if not found and key not in made:
                try:
                    made[key] = _graph(row, graphs)
                except InvalidGraph as error:
                    found = [replace(f, detail=f"Row: {f.detail}") for f in error.faults]
            if not found:
                chain = chain_of(made[key])
                found = [
                    Fault(f"/policy{f.pointer}", f.code, f.detail)
                    for f in choice_faults(row.policy, chain)
                ]
            if not found:
                runs.append(_run(row, made[key]))
            for fault in found:
                yield Fault(f"/rows/{i}{fault.pointer}", fault.code, fault.detail)

    if found := first_of(faults(), "/rows"):
        raise InvalidMeasurements(found)
    return tuple(runs)


def _row_faults(row: TimesRow, graphs: Mapping[str, Graph]) -> Iterator[Fault]:
    if (row.model is None) == (row.graph is None):
        yield Fault("/model", FaultCode.MISSING_FIELD, "Row: give a model or a graph, one of both.")
    elif row.model is not None and row.model not in MODELS:
        detail = f"Row: no model is called {row.model!r}; there are {', '.join(MODELS)}."
        yield Fault("/model", FaultCode.OUT_OF_RANGE, detail)
    elif row.graph is not None and row.graph not in graphs:
        yield Fault("/graph", FaultCode.OUT_OF_RANGE, f"Row: no graph is called {row.graph!r}.")
    if row.tokens is not None and not (row.model in MODELS and "tokens" in _arguments(row.model)):
        detail = f"Row: {row.model or row.graph} has no sequences; leave tokens out."
        yield Fault("/tokens", FaultCode.EXTRA_FIELD, detail)
    if row.throughput is not None and row.time_us is not None:
        yield Fault("/throughput", FaultCode.EXTRA_FIELD, "Row: give a time or a throughput.")
    if row.throughput is not None and row.batch is None:
        yield Fault("/batch", FaultCode.MISSING_FIELD, "Row: a throughput needs batch.")


def _graph(row: TimesRow, graphs: Mapping[str, Graph]) -> Graph:
    if row.graph is not None:
        return graphs[row.graph]
    make: Callable[..., Graph] = MODELS[row.model or ""]
    given = {"batch": row.batch, "tokens": row.tokens}
    taken = _arguments(row.model or "")
    return make(**{name: value for name, value in given.items() if value and name in taken})


def _arguments(model: str) -> Collection[str]:
    """Return what a model may be made with."""
    return signature(MODELS[model]).parameters


def _run(row: TimesRow, graph: Graph) -> MeasuredRun:
    """Return a run; what one worker's batch takes at a throughput is its time."""
    time = row.time_us
    if row.throughput is not None and row.batch is not None:
        time = row.workers * row.batch / row.throughput * 1e6
    barrier = waits(row.policy.policy) if row.barrier is None else row.barrier
    return MeasuredRun(
        model=row.model or row.graph or "",
        graph=graph,
        is_timed=row.graph is not None,
        workers=row.workers,
        choice=Choice(row.policy.policy, barrier, row.policy.parameters),
        time_us=time,
        network=row.network,
        bandwidth_gbps=row.bandwidth_gbps,
    )
