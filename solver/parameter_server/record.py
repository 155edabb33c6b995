"""What a run is asked for, and what is known of it afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solver.parameter_server.steps import DOWNLINK, SERVER, UPLINK, WORKER


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How long is simulated, and how.

    Attributes
    ----------
    steps
        Steps of a worker; the run ends when the first worker has done so many.
    dropped
        So many steps a worker, those of all workers together, are not counted at the start.
    seed
        Of the draw of each worker's steps, with replacement.
    synchronous
        All workers begin a step when all have ended the one before.
    spread
        Standard deviation of a factor of mean 1 by which what is computed in a step takes longer
        than profiled: log-normal, drawn for each step of each worker.
    stagger_us
        Each worker begins so much later than the one before [us].
    """

    steps: int = 1000
    dropped: int = 50
    seed: int = 0
    synchronous: bool = False
    spread: float = 0.0
    stagger_us: float = 0.0


class ServicePeriod(NamedTuple):
    """What a resource did for an op at one go.

    Attributes
    ----------
    worker
        Its number.
    step
        How many steps the worker had done before.
    profile
        Index of the profiled step.
    op
        Position in it.
    bytes
        What was transferred [bytes]; None of what is computed.
    start, end
        [us].
    """

    worker: int
    step: int
    profile: int
    op: int
    bytes: int | None
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class StepsRun:
    """What so many workers did.

    Attributes
    ----------
    workers
        How many.
    ends
        When each worker ended its steps [us]; fewer than asked for but of the first that was done.
    start, end
        What counts: from the end of the last step that is dropped to the end of the first worker's
        last [us]. From 0 where the latter comes no later.
    steps
        How many steps of all workers ended after ``start`` and up to ``end``.
    names
        The resources of a worker: itself, then each server's cores, uplink and downlink.
    busy
        Of each resource, what it did from ``start`` to ``end`` in microseconds of its full speed:
        of a worker's and a server's cores, the sum over workers; of a link, of all its bandwidth.
    services
        Those of the steps that were to be recorded, by start.
    events
        How many services were done.
    is_synchronous
        Whether all workers began each step together.
    """

    workers: int
    ends: tuple[tuple[float, ...], ...]
    start: float
    end: float
    steps: int
    names: tuple[str, ...]
    busy: tuple[float, ...]
    services: tuple[ServicePeriod, ...]
    events: int
    is_synchronous: bool


def resources_of(servers: Sequence[str | None]) -> tuple[str, ...]:
    """Name the resources of a worker: itself, and each server's cores, uplink and downlink."""
    kinds = (SERVER, UPLINK, DOWNLINK)
    of_servers = (f"{kind}:{s}" if s else kind for kind in kinds for s in servers)
    return (WORKER, *of_servers)
