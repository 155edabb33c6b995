"""Several training jobs on one server: what each loses by the others."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.limits import (
    MAX_BYTES,
    MAX_DURATION_US,
    MAX_SERVER_CORES,
    MAX_SIMULATED_TRANSFERS,
    MAX_WORKERS,
)
from solver.placements.chunks import chunk_count, core_faults, key_faults
from solver.placements.exchange import simulated_chunk
from solver.placements.job_steps import SharedServer, TrainingJob, step_ends
from solver.placements.ranges import real, whole
from solver.units import bytes_per_us

#: Steps of the job with the longest ones.
_STEPS = 12
#: So many first steps of each job are dropped: interfaces fill, and alike jobs drift apart.
_DROPPED = 8
#: So many ends of steps of every job are in the window that all are measured in.
_ENDS = 3


@dataclass(frozen=True, slots=True)
class SharedJob:
    """What a job loses to the others on its server.

    Attributes
    ----------
    name
        The job's.
    alone_us
        Time of a step with the server to itself [us].
    together_us
        The same with all jobs [us].
    slowdown
        The second over the time alone with the same chunks, ``coarse_us``: what others take, and
        nothing of what large chunks do.
    steps
        Over so many steps the second was measured.
    alone_chunk_bytes
        Size of a chunk where the first was simulated.
    coarse_us
        The first with the chunks of the second, of ``jobs_chunk_bytes``, on the same interfaces and
        cores: what it is longer by is of large chunks, and of where they are [us].
    """

    name: str
    alone_us: float
    together_us: float
    slowdown: float
    steps: int
    alone_chunk_bytes: int
    coarse_us: float


@dataclass(frozen=True, slots=True)
class Sharing:
    """Jobs that share a server.

    Attributes
    ----------
    jobs
        In the order given.
    chunk_bytes
        Size of a chunk in the simulations: the smallest multiple of the server's that makes no more
        transfers than a simulation may.
    transfers
        How many all jobs together make.
    """

    jobs: tuple[SharedJob, ...]
    chunk_bytes: int
    transfers: int


def share(
    jobs: Sequence[TrainingJob], server: SharedServer, most_transfers: int = MAX_SIMULATED_TRANSFERS
) -> Sharing | None:
    """Simulate jobs that share a server, and each by itself.

    In a step of a job its workers compute for the batch time and exchange all chunks meanwhile, as
    :func:`solver.placements.bandwidth.bandwidth` assumes; the next step begins when all of them
    have ended both. So a step alone takes the longer of the two. It is simulated with the smallest
    chunks that make no more than a twelfth of ``most_transfers``, the same whatever the other
    jobs are.

    Together all jobs begin at once, and go on until each has run for twelve steps of the job with
    the longest. The window to measure in opens when every job has ended eight steps, which drops
    the time in which interfaces fill and alike jobs drift apart; it closes when the first job
    stops. A step of each job is the mean between the first and the last of its ends in there; where
    these are fewer than three, jobs that stopped early are simulated with twice as many steps. No
    simulation makes more than ``most_transfers``.

    Returns
    -------
    Sharing or None
        None where the keys alone make too many transfers to simulate.

    Raises
    ------
    InvalidOptions
        With every value that is out of range, no jobs, or jobs of the same name.

    Notes
    -----
    What a cache loses to other jobs is not in it. O(n log n) for n transfers.

    References
    ----------
    .. [1] PHub, Section 4.8 and Figure 18.
    """
    if faults := [*job_faults(jobs), *server_faults(server)]:
        raise InvalidOptions(faults)
    together = _together(jobs, server, most_transfers)
    if together is None:
        return None
    alone = {job: _alone(job, server, most_transfers // _STEPS) for job in map(_unnamed, jobs)}
    size, transfers, ends_of = together
    once, found = [1] * len(jobs), []
    for j, (job, ends) in enumerate(zip(jobs, _in_window(ends_of), strict=True)):
        count, (chunk_bytes, before) = len(ends) - 1, alone[_unnamed(job)]
        time, same = (ends[-1] - ends[0]) / count, _step_ends(jobs, once, server, size, j)[0][0]
        found.append(SharedJob(job.name, before, time, time / same, count, chunk_bytes, same))
    return Sharing(tuple(found), size, transfers)


def _step_ends(
    jobs: Sequence[TrainingJob],
    steps: Sequence[int],
    server: SharedServer,
    size: int,
    only: int | None = None,
) -> list[list[float]]:
    """Simulate jobs with chunks of a size, which pay as often as those that they stand for."""
    paid = server.chunk_bytes if size > server.chunk_bytes else None
    return step_ends(jobs, steps, replace(server, paid_bytes=paid), size, only)


def _unnamed(job: TrainingJob) -> TrainingJob:
    return replace(job, name="")


def _alone(job: TrainingJob, server: SharedServer, most_transfers: int) -> tuple[int, float]:
    """Return the chunk size [bytes] and the time of a step [us] of a job by itself."""
    size = _chunk([job], [1], server, most_transfers)
    assert size is not None, "twelve steps of it and more were simulated"
    return size, _step_ends([job], [1], server, size)[0][0]


def _together(
    jobs: Sequence[TrainingJob], server: SharedServer, most_transfers: int
) -> tuple[int, int, list[list[float]]] | None:
    """Simulate all jobs until each has ends enough in the window.

    Returns the chunk size [bytes], the transfers, and when each step of each job ends [us].
    """
    steps = _steps(jobs, server)
    while (size := _chunk(jobs, steps, server, most_transfers)) is not None:
        ends_of = _step_ends(jobs, steps, server, size)
        if all(len(ends) >= _ENDS for ends in _in_window(ends_of)):
            return size, _transfer_count(jobs, steps, size), ends_of
        opened = max(ends[_DROPPED - 1] for ends in ends_of)
        late = [[end for end in ends if end >= opened] for ends in ends_of]
        wanted = max(ends[_ENDS - 1] for ends in late if len(ends) >= _ENDS)
        steps = [
            count if len(ends) >= _ENDS and ends[-1] >= wanted else 2 * count
            for count, ends in zip(steps, late, strict=True)
        ]
    return None


def _in_window(ends_of: Sequence[Sequence[float]]) -> list[list[float]]:
    """Keep the ends of steps from when every job has dropped its first until one stops."""
    opened = max(ends[_DROPPED - 1] for ends in ends_of)
    closed = min(ends[-1] for ends in ends_of)
    return [[end for end in ends if opened <= end <= closed] for ends in ends_of]


def _chunk(
    jobs: Sequence[TrainingJob], steps: Sequence[int], server: SharedServer, most_transfers: int
) -> int | None:
    return simulated_chunk(
        server.chunk_bytes,
        most_transfers,
        max(key.bytes for job in jobs for key in job.keys),
        lambda size: _transfer_count(jobs, steps, size),
    )


def _steps(jobs: Sequence[TrainingJob], server: SharedServer) -> list[int]:
    """Give every job as many steps as keep it busy while the longest one runs its own."""
    alone = []
    for job in jobs:
        size = sum(key.bytes for key in job.keys)
        on_worker = size / bytes_per_us(server.worker_gbps)
        on_server = size * job.workers / bytes_per_us(server.interface_gbps) / server.interfaces
        alone.append(max(job.batch_time_us, on_worker, on_server))
    return [math.ceil(_STEPS * max(alone) / time) for time in alone]


def _transfer_count(jobs: Sequence[TrainingJob], steps: Sequence[int], size: int) -> int:
    return sum(
        2 * count * job.workers * chunk_count(job.keys, size)
        for job, count in zip(jobs, steps, strict=True)
    )


def job_faults(jobs: Sequence[TrainingJob]) -> Iterator[Fault]:
    """Find everything that is wrong with jobs, from ``/jobs`` on."""
    if not jobs:
        yield Fault("/jobs", FaultCode.MISSING_FIELD, "There are no jobs.")
    first: dict[str, int] = {}
    for i, job in enumerate(jobs):
        at = first.setdefault(job.name, i)
        if at != i:
            detail = f"Job {job.name!r} is named at /jobs/{at}; names must be unique."
            yield Fault(f"/jobs/{i}/name", FaultCode.DUPLICATE_ID, detail)
        for fault in key_faults(job.keys):
            yield Fault(f"/jobs/{i}{fault.pointer}", fault.code, fault.detail)
        named = f"Job {job.name!r}:"
        yield from real(
            f"/jobs/{i}/batch_time_us", f"{named} batch_time_us", job.batch_time_us, MAX_DURATION_US
        )
        yield from whole(f"/jobs/{i}/workers", f"{named} workers", job.workers, MAX_WORKERS)


def server_faults(server: SharedServer) -> Iterator[Fault]:
    """Find everything that is wrong with a shared server, from ``/server`` on."""
    for name in ("worker_gbps", "interface_gbps"):
        yield from real(f"/server/{name}", name, getattr(server, name))
    for name, most in (
        ("interfaces", MAX_SERVER_CORES),
        ("cores", MAX_SERVER_CORES),
        ("chunk_bytes", MAX_BYTES),
    ):
        yield from whole(f"/server/{name}", name, getattr(server, name), most)
    yield from core_faults(server.interfaces * server.cores, "/server/cores")
    if server.aggregate_gbytes_per_s is not None:
        rate = server.aggregate_gbytes_per_s
        yield from real("/server/aggregate_gbytes_per_s", "aggregate_gbytes_per_s", rate)
