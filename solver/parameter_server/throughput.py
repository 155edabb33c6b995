"""The throughput of many workers, predicted from profiled steps of one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from solver.parameter_server.run import WIN_BYTES, StepsRun
from solver.parameter_server.steps import Step

#: Spread where all profiled steps are the same one: without any, workers stay in lock step.
DEFAULT_SPREAD: Final = 0.05


@dataclass(frozen=True, slots=True)
class ThroughputOptions:
    """What is predicted.

    Attributes
    ----------
    workers
        How many, each a row of every bandwidth; without repeats.
    bandwidths_gbps
        Of each server's and each worker's interface in each direction [Gbit/s]; without repeats.
    batch_size
        Examples of a worker's step.
    win_bytes
        Most bytes of a stream's first service; None without flow control.
    parse_us_per_byte, parse_us
        What a receiver computes for each transfer: so much a byte and so much in any case.
    order
        In which the downlinks that are ready at a step's start leave, one of ``ORDERS``.
    steps
        Steps of a worker; a row ends when the first worker has done so many.
    dropped
        So many steps a worker are not counted at the start; half of ``steps`` at most.
    seed
        Of each worker's steps, and of a random order.
    synchronous
        All workers begin a step when all have ended the one before.
    spread
        Standard deviation of the factor, of mean 1, by which what is computed in a step takes
        longer than profiled. None: 0 where several profiled steps differ, else
        :data:`DEFAULT_SPREAD`.
    explain
        Ask for each row what limits it.
    """

    workers: tuple[int, ...]
    bandwidths_gbps: tuple[float, ...]
    batch_size: int
    win_bytes: int | None = WIN_BYTES
    parse_us_per_byte: float = 0.0
    parse_us: float = 0.0
    order: str = "fifo"
    steps: int = 1000
    dropped: int = 50
    seed: int = 0
    synchronous: bool = False
    spread: float | None = None
    explain: bool = True


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The same run with one resource faster, all servers' at once.

    Attributes
    ----------
    resource
        ``worker``, ``server``, ``uplink`` or ``downlink``.
    factor
        So many times as fast.
    examples_per_s
        Of the row, with the gain.
    gain
        Share by which the throughput grows; below 0 where it falls. Both runs are of fewer steps.
    """

    resource: str
    factor: float
    examples_per_s: float
    gain: float


@dataclass(frozen=True, slots=True)
class ThroughputRow:
    """So many workers at one bandwidth.

    Attributes
    ----------
    bandwidth_gbps, workers
        Which row it is.
    examples_per_s
        Examples of all workers in a second.
    low, high
        95 % confidence interval [examples/s]; None where the steps are too few, or vary too much,
        to say.
    step_us
        Mean time of a worker's step, in a synchronous run with its wait for the others [us].
    utilisation
        Of each resource by name, 0..1: of a link, the share of its bandwidth; of the worker and of
        a server's cores, the mean share of the workers that are busy there.
    limited_by
        The resource whose speeding up gains most; None when nothing gains more than the interval
        is wide, or when nobody asked.
    what_if
        What a faster resource gains, one for each kind in use.
    lin, cynthia, bound
        The formulas of :mod:`solver.parameter_server.formulas` [examples/s].
    events
        Services that were simulated, without those of ``what_if``.
    """

    bandwidth_gbps: float
    workers: int
    examples_per_s: float
    low: float | None
    high: float | None
    step_us: float
    utilisation: tuple[tuple[str, float], ...]
    limited_by: str | None
    what_if: tuple[WhatIf, ...]
    lin: float
    cynthia: float
    bound: float
    events: int


@dataclass(frozen=True, slots=True)
class ThroughputKnee:
    """From where on more workers gain nothing at a bandwidth.

    Attributes
    ----------
    bandwidth_gbps
        The bandwidth.
    workers
        The least count over which no larger one gains more than 1 %; None when the largest gains
        more than that over the one before it, or is the only one.
    ceiling_examples_per_s
        What the busiest direction of a server's link can carry: no number of workers has more in
        the long run [examples/s]. None when nothing is transferred.
    text
        The same in a sentence.
    """

    bandwidth_gbps: float
    workers: int | None
    ceiling_examples_per_s: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rows by bandwidth, then by workers, in the order asked for; a knee for each bandwidth."""

    rows: tuple[ThroughputRow, ...]
    knees: tuple[ThroughputKnee, ...]
    notes: tuple[str, ...]


def prepare(steps: Sequence[Step], options: ThroughputOptions) -> tuple[Step, ...]:
    """Return the steps as they are run: with what receivers compute, and in the order asked for."""
    raise NotImplementedError


def run_of(
    prepared: Sequence[Step],
    options: ThroughputOptions,
    bandwidth_gbps: float,
    workers: int,
    recorded: range = range(0),
) -> StepsRun:
    """Simulate one row of prepared steps again, with the services of some steps of each worker."""
    raise NotImplementedError


def predict(
    steps: Sequence[Step],
    options: ThroughputOptions,
    report: Callable[[int, int], None] | None = None,
) -> Throughput:
    """Predict the throughput of each bandwidth and count of workers.

    ``report`` is called after each row with how many are done, of how many.

    Raises
    ------
    InvalidSteps
        When there is no step, or they do not go together, or one takes no time.
    InvalidOptions
        With every option that is out of range.
    """
    raise NotImplementedError
