"""What is predicted of so many workers at a bandwidth."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FasterResourceRow:
    """The same run with one resource faster, all servers' at once.

    Attributes
    ----------
    resource
        ``worker``, ``server``, ``uplink``, ``downlink``, or ``links``: both directions.
    factor
        So many times as fast.
    examples_per_s
        Of a run of fewer steps.
    gain
        Share by which that is more than in the same run as it is; below 0 where it falls.
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
        The resource whose speeding up gains most, ``links`` only where neither direction gains as
        much; None when nothing gains more than the interval is wide, or when nobody asked.
    what_if
        What a faster resource gains, one for each kind in use, and for both links together.
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
    what_if: tuple[FasterResourceRow, ...]
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
        The least count over which no larger one gains more than 1 %, nor more than up to ``high``;
        None when the largest gains more than that over the one before it, or is the only one.
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
