"""What is predicted of so many workers at a bandwidth."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """How much a resource is used.

    Attributes
    ----------
    resource
        Its name.
    share
        Of a link its bandwidth in use; of the worker and a server's cores the mean share of workers
        that they compute for.
    """

    resource: str
    share: float


@dataclass(frozen=True, slots=True)
class FasterResource:
    """The same run with one resource so many times as fast, on fewer steps.

    Attributes
    ----------
    resource
        ``worker``, ``server``, ``uplink`` or ``downlink``, of all servers; ``links``: both
        directions.
    factor
        So many times as fast.
    examples_per_s
        Of all workers, simulated.
    gain
        ``examples_per_s`` / that of the same run as it is - 1.
    """

    resource: str
    factor: float
    examples_per_s: float
    gain: float


@dataclass(frozen=True, slots=True)
class ThroughputRow:
    """So many workers at a bandwidth.

    Attributes
    ----------
    bandwidth_gbps, workers
        Which row it is.
    examples_per_s
        Of all workers, simulated.
    low_examples_per_s
        95 % interval of the simulated mean, widened to the mean of workers that begin in step where
        those that vary begin one after the other; null of too few steps.
    high_examples_per_s
        Its other end.
    step_us
        Mean time of a worker's step [us]; in a synchronous run with its wait for the others.
    utilisation
        Of each resource.
    limited_by
        The resource that gains most when it is faster, ``links`` only where neither direction gains
        as much; null when none gains more than its interval, or nothing was explained.
    what_if
        One for each kind of resource in use, and for both links together. Empty when nothing was
        explained.
    lin_examples_per_s
        By the formula of Lin et al.; ``notes`` say what it knows.
    cynthia_examples_per_s
        By the formula of Cynthia (Zheng et al.).
    bound_examples_per_s
        The simple bound: so many workers as if each were alone, or a server's busiest link
        direction full, whichever is less.
    services
        How many services were simulated, without those of ``what_if``.
    """

    bandwidth_gbps: float
    workers: int
    examples_per_s: float
    low_examples_per_s: float | None
    high_examples_per_s: float | None
    step_us: float
    utilisation: tuple[ResourceUse, ...]
    limited_by: str | None
    what_if: tuple[FasterResource, ...]
    lin_examples_per_s: float
    cynthia_examples_per_s: float
    bound_examples_per_s: float
    services: int


@dataclass(frozen=True, slots=True)
class ThroughputKnee:
    """From how many workers on more of them gain nothing.

    Attributes
    ----------
    bandwidth_gbps
        At which bandwidth.
    workers
        The least count over which no larger one gains more than 1 % or more than the interval; null
        when the largest still does, or there is one alone.
    ceiling_examples_per_s
        ``batch_size`` x bandwidth / bytes of a step on its busiest link: no count of workers does
        more. Null when nothing is transferred.
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
