"""Profiled steps made ready for a prediction, and how a row of it is run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from solver.errors import Fault, InvalidSteps
from solver.parameter_server.formulas import busiest_of
from solver.parameter_server.links import ServerLinks
from solver.parameter_server.options import DEFAULT_SPREAD, ThroughputOptions
from solver.parameter_server.orders import in_order
from solver.parameter_server.parsing import with_parsing
from solver.parameter_server.record import RunOptions, StepsRun
from solver.parameter_server.run import run_steps
from solver.parameter_server.speedups import kinds_to_try
from solver.parameter_server.steps import ServerStep
from solver.units import bytes_per_us

#: What limits a row is asked of runs that count so many times fewer steps; there are up to six.
_FEWER: Final = 5


def prepare(steps: Sequence[ServerStep], options: ThroughputOptions) -> tuple[ServerStep, ...]:
    """Return the steps as they are run: with what receivers compute, and in the order asked for.

    Raises
    ------
    InvalidSteps
        When an op that parses would last too long.
    """
    prepared, faults = [], []
    for i, step in enumerate(steps):
        try:
            parsed = with_parsing(step, options.parse_us_per_byte, options.parse_us)
        except InvalidSteps as error:
            faults += [Fault(f"/{i}{f.pointer}", f.code, f.detail) for f in error.faults]
        else:
            prepared.append(in_order(parsed, options.order, options.seed))
    if faults:
        raise InvalidSteps(faults)
    return tuple(prepared)


def run_of(
    prepared: Sequence[ServerStep],
    options: ThroughputOptions,
    bandwidth_gbps: float,
    workers: int,
    recorded: range = range(0),
    *,
    only_recorded: bool = False,
) -> StepsRun:
    """Run prepared steps as a row does.

    Parameters
    ----------
    prepared
        By :func:`prepare`.
    options
        Of the prediction; its bandwidths and workers do not count here.
    bandwidth_gbps, workers
        Which row.
    recorded
        Numbers of the steps of each worker whose services are returned.
    only_recorded
        Whether to end as soon as every worker has done these; up to there nothing differs.
    """
    links = ServerLinks(bandwidth_gbps, options.win_bytes)
    how = run_options(prepared, options, bandwidth_gbps, workers)
    return run_steps(prepared, workers, links, how, recorded, only_recorded=only_recorded)


def run_options(
    prepared: Sequence[ServerStep], options: ThroughputOptions, bandwidth_gbps: float, workers: int
) -> RunOptions:
    """Return how a row is run: workers whose steps vary begin one after the other.

    Those that begin together would stay in lock step for thousands of steps where transfers
    prevail. They begin over the time of a step whose ops do not overlap, or in which the busiest
    link serves all of them.
    """
    spread = _spread(prepared, options)
    stagger = 0.0
    if is_staggered(prepared, options):
        busiest, rate = busiest_of(prepared), bytes_per_us(bandwidth_gbps)
        compute = sum(op.duration_us or 0.0 for step in prepared for op in step.ops)
        in_turn = compute / len(prepared) + busiest.both / rate
        stagger = max(in_turn / workers, busiest.direction / rate)
    return RunOptions(
        options.steps, options.dropped, options.seed, options.synchronous, spread, stagger
    )


def is_staggered(prepared: Sequence[ServerStep], options: ThroughputOptions) -> bool:
    """Tell whether workers begin one after the other: where their steps vary, out of step."""
    varies = _spread(prepared, options) > 0 or not are_alike(prepared)
    return varies and not options.synchronous


def _spread(prepared: Sequence[ServerStep], options: ThroughputOptions) -> float:
    if options.spread is not None:
        return options.spread
    return DEFAULT_SPREAD if are_alike(prepared) else 0.0


def are_alike(steps: Sequence[ServerStep]) -> bool:
    """Tell whether all profiled steps are the same."""
    return all(step.ops == steps[0].ops for step in steps)


def steps_of_row(prepared: Sequence[ServerStep], options: ThroughputOptions) -> int:
    """Count the steps that a worker of a row does, those that explain it included."""
    few = fewer(RunOptions(options.steps, options.dropped))
    runs = 1 + len(kinds_to_try(prepared)) if options.explain else 0
    runs += is_staggered(prepared, options)  # once more in step
    return options.steps + runs * few.steps


def fewer(options: RunOptions) -> RunOptions:
    """Return what explains a row: as many steps dropped, and fewer that count."""
    counted = max(1, (options.steps - options.dropped) // _FEWER)
    return replace(options, steps=options.dropped + counted)
