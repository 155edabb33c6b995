"""The throughput of many workers, predicted from profiled steps of one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions, InvalidSteps
from solver.limits import MIN_TIME_US
from solver.parameter_server.formulas import (
    StepPhases,
    busiest_of,
    ceiling,
    cynthia,
    lin,
    phases_of,
    simple_bound,
)
from solver.parameter_server.interval import drifts, examples_per_s, pace_of
from solver.parameter_server.links import ServerLinks
from solver.parameter_server.options import DEFAULT_SPREAD, ThroughputOptions, option_faults
from solver.parameter_server.prepared import (
    are_alike,
    fewer,
    is_staggered,
    prepare,
    run_of,
    run_options,
)
from solver.parameter_server.record import RunOptions, StepsRun
from solver.parameter_server.rows import (
    FasterResource,
    ResourceUse,
    Throughput,
    ThroughputKnee,
    ThroughputRow,
)
from solver.parameter_server.run import run_steps
from solver.parameter_server.speedups import SPEEDUP, gains_of
from solver.parameter_server.steps import SERVER, WORKER, ServerStep, servers_of
from solver.simulation.knee import knee_of, workers_text
from solver.units import bytes_per_us


def predict(
    steps: Sequence[ServerStep],
    options: ThroughputOptions,
    report: Callable[[int, int], None] | None = None,
) -> Throughput:
    """Predict the throughput of each bandwidth and count of workers.

    Each row is a simulation of its own, from the same seed: a worker of one row draws the steps
    that it draws in any other.

    Parameters
    ----------
    steps
        Profiled steps of one worker.
    options
        What is predicted.
    report
        Called after each row with how many rows are done, and how many there are; it may raise to
        give up.

    Raises
    ------
    InvalidSteps
        When there is no step, or they do not go together, or one takes no time.
    InvalidOptions
        With every option that is out of range.

    Notes
    -----
    A row simulates ``steps`` steps of W workers, up to twice as many again to explain it, a fifth
    as many of workers that begin in step, and those of one worker once a bandwidth; memory for a
    step of each worker and the ends of all.

    References
    ----------
    .. [1] Li et al., Throughput Prediction of Asynchronous SGD in TensorFlow, 2020.
    """
    if faults := list(option_faults(options)):
        raise InvalidOptions(faults)
    servers_of(steps)
    if faults := list(_idle_faults(steps)):
        raise InvalidSteps(faults)
    prepared = prepare(steps, options)
    many = len(options.bandwidths_gbps) * len(options.workers)
    rows: list[ThroughputRow] = []
    knees, notes = [], _notes(prepared, options)
    for bandwidth in options.bandwidths_gbps:
        alone = _alone(prepared, options, bandwidth)
        for workers in options.workers:
            run = alone.run if workers == 1 else run_of(prepared, options, bandwidth, workers)
            rows.append(_row(prepared, options, alone, run))
            if workers > 1 and is_staggered(prepared, options):
                beside = _in_step(prepared, options, alone.links, workers)
                rows[-1], note = _with_both(rows[-1], beside)
                notes += note
            if options.dropped and not run.start:
                notes.append(_undropped(rows[-1]))
            if drifts(run):
                notes.append(_drifting(rows[-1]))
            if report is not None:
                report(len(rows), many)
        knees.append(_knee(rows[-len(options.workers) :], alone.ceiling))
    return Throughput(tuple(rows), tuple(knees), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Alone:
    """One worker at a bandwidth, and what follows from it for many."""

    links: ServerLinks
    run: StepsRun
    phases: StepPhases
    both_ways_us: float
    ceiling: float | None


def _alone(
    prepared: Sequence[ServerStep], options: ThroughputOptions, bandwidth_gbps: float
) -> _Alone:
    links = ServerLinks(bandwidth_gbps, options.win_bytes)
    run = run_of(prepared, options, bandwidth_gbps, 1)
    busiest = busiest_of(prepared)
    return _Alone(
        links,
        run,
        phases_of(prepared, links),
        busiest.both / bytes_per_us(bandwidth_gbps),
        ceiling(options.batch_size, busiest.direction, bandwidth_gbps),
    )


def _row(
    prepared: Sequence[ServerStep], options: ThroughputOptions, alone: _Alone, run: StepsRun
) -> ThroughputRow:
    links, workers, batch_size = alone.links, run.workers, options.batch_size
    pace = pace_of(run)
    rate, low, high = examples_per_s(pace, batch_size)
    tried: tuple[FasterResource, ...] = ()
    limited_by = None
    if options.explain:
        few = fewer(run_options(prepared, options, links.bandwidth_gbps, workers))
        gains = gains_of(
            prepared, links, lambda steps, links: run_steps(steps, workers, links, few)
        )
        limited_by = gains.limit
        tried = tuple(
            FasterResource(kind, SPEEDUP, examples_per_s(pace, batch_size)[0], gains.of(kind))
            for kind, pace in gains.paces.items()
        )
    return ThroughputRow(
        links.bandwidth_gbps,
        workers,
        rate,
        low,
        high,
        pace.mean_us * workers,
        _utilisation(run),
        limited_by,
        tried,
        lin(workers, batch_size, alone.phases),
        cynthia(workers, batch_size, alone.phases.step, alone.both_ways_us),
        simple_bound(workers, batch_size * 1e6 / alone.phases.step, alone.ceiling),
        run.events,
    )


def _in_step(
    prepared: Sequence[ServerStep], options: ThroughputOptions, links: ServerLinks, workers: int
) -> float:
    """Run workers that begin together; return their throughput [examples/s]."""
    few = fewer(run_options(prepared, options, links.bandwidth_gbps, workers))
    run = run_steps(prepared, workers, links, replace(few, stagger_us=0.0))
    return examples_per_s(pace_of(run), options.batch_size)[0]


def _with_both(row: ThroughputRow, in_step: float) -> tuple[ThroughputRow, list[str]]:
    """Widen a row's interval to hold workers in step, and say so, where they are outside."""
    low, high = row.low_examples_per_s, row.high_examples_per_s
    if low is None or high is None or low <= in_step <= high:
        return row, []
    wide = replace(
        row, low_examples_per_s=min(low, in_step), high_examples_per_s=max(high, in_step)
    )
    note = (
        f"With {workers_text(row.workers)} at {row.bandwidth_gbps:g} Gbit/s workers that begin "
        f"together train {in_step:.4g} examples/s, those that begin one after the other {low:.4g} "
        f"to {high:.4g}: which of them a run falls into is not known, and the interval holds both."
    )
    return wide, [note]


def _utilisation(run: StepsRun) -> tuple[ResourceUse, ...]:
    """Tell the share of each resource that is used: links are one, cores are each worker's own."""
    window = run.end - run.start
    shares = []
    for name, busy in zip(run.names, run.busy, strict=True):
        cores = run.workers if name.partition(":")[0] in {WORKER, SERVER} else 1
        shares.append(ResourceUse(name, busy / (window * cores)))
    return tuple(shares)


def _knee(rows: Sequence[ThroughputRow], ceiling: float | None) -> ThroughputKnee:
    """Find the knee of a bandwidth's rows."""
    rows = sorted(rows, key=lambda row: row.workers)
    bandwidth = rows[0].bandwidth_gbps
    rates = [row.examples_per_s for row in rows]
    at = knee_of(rates, [row.low_examples_per_s or row.examples_per_s for row in rows])
    workers = None if at is None else rows[at].workers
    most = workers_text(rows[-1].workers)
    if workers is not None:
        text = f"beyond {workers_text(workers)} throughput gains no more than 1 % for sure"
    elif len(rows) > 1:
        text = f"{most}, the most that were simulated, still gain more than 1 %"
    else:
        text = f"{most} alone were simulated, so nothing is known of more"
    text = f"At {bandwidth:g} Gbit/s {text}"
    if ceiling is not None:
        text += f"; a server's busiest link carries {ceiling:,.1f} examples/s at most"
    return ThroughputKnee(bandwidth, workers, ceiling, f"{text}.")


def _notes(steps: Sequence[ServerStep], options: ThroughputOptions) -> list[str]:
    notes = []
    if are_alike(steps) and not options.synchronous:
        if options.spread is None:
            notes.append(
                f"All profiled steps are alike, and workers that never differ stay in lock step: "
                f"computing takes longer by a factor with a spread of {DEFAULT_SPREAD:g}, drawn "
                "for each step."
            )
        elif not options.spread:
            notes.append(
                "All profiled steps are alike and nothing varies: the workers stay in lock step, "
                "and share links more than real ones do."
            )
    if is_staggered(steps, options):
        notes.append("Workers begin one after the other, since those that begin together stay so.")
    if options.explain:
        few = fewer(RunOptions(options.steps, options.dropped))
        notes.append(
            f"What limits a row is from runs of {few.steps:,} steps a worker, {few.dropped:,} of "
            f"them dropped, with one resource {SPEEDUP:g} times as fast."
        )
    if options.synchronous:
        notes.append("The formulas of Lin et al. and of Cynthia are of asynchronous training.")
    return notes


def _undropped(row: ThroughputRow) -> str:
    return (
        f"With {workers_text(row.workers)} at {row.bandwidth_gbps:g} Gbit/s one had done its steps "
        "before so many were dropped: none is."
    )


def _drifting(row: ThroughputRow) -> str:
    return (
        f"With {workers_text(row.workers)} at {row.bandwidth_gbps:g} Gbit/s the second half of the "
        "run is faster or slower than the first: its throughput is not settled; simulate more "
        "steps."
    )


def _idle_faults(steps: Sequence[ServerStep]) -> Iterator[Fault]:
    for i, step in enumerate(steps):
        is_short = sum(op.duration_us or 0.0 for op in step.ops) < MIN_TIME_US
        if is_short and not any(op.bytes for op in step.ops):
            detail = (
                f"Step {i} takes less than {MIN_TIME_US:g} us; nothing can be said of its "
                "throughput."
            )
            yield Fault(f"/{i}/ops", FaultCode.OUT_OF_RANGE, detail)
