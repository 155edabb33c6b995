"""Several training jobs on one server: what each loses by the others."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.graph import ALL_REDUCE, Op
from solver.limits import (
    MAX_BYTES,
    MAX_DURATION_US,
    MAX_SERVER_CORES,
    MAX_SIMULATED_TRANSFERS,
    MAX_WORKERS,
)
from solver.placements.chunks import (
    CHUNK_BYTES,
    Chunk,
    Key,
    chunk_count,
    core_faults,
    key_faults,
    lay_out,
)
from solver.placements.exchange import simulated_chunk
from solver.placements.ranges import real, whole
from solver.placements.transfers import carry, join, run
from solver.units import bytes_per_us

#: Steps of the job with the longest ones.
_STEPS = 6


@dataclass(frozen=True, slots=True)
class Job:
    """A training job.

    Attributes
    ----------
    name
        Unique among the jobs.
    keys
        What its workers push and pull in a step, in that order.
    batch_time_us
        Compute time of a step [us].
    workers
        How many, each on a host of its own.
    """

    name: str
    keys: tuple[Key, ...]
    batch_time_us: float
    workers: int


@dataclass(frozen=True, slots=True)
class SharedServer:
    """A server on a host of its own, and the network around it.

    Attributes
    ----------
    worker_gbps
        Bandwidth of a worker's network interface, each direction [Gbit/s].
    interface_gbps
        The same of each interface of the server.
    interfaces
        Of the server.
    cores
        Of each interface.
    aggregate_gbytes_per_s
        Speed at which a core sums the gradients of all workers and updates the model [10^9 bytes
        of gradients a second]; None when it takes no time.
    chunk_bytes
        Size that keys are cut to.
    """

    worker_gbps: float
    interface_gbps: float
    interfaces: int = 1
    cores: int = 1
    aggregate_gbytes_per_s: float | None = None
    chunk_bytes: int = CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class SharedJob:
    """What a job loses.

    Attributes
    ----------
    name
        The job's.
    alone_us, together_us
        Time of a step with the server to itself, and with all jobs [us].
    slowdown
        The second over the first.
    steps
        Over so many steps the second was measured.
    """

    name: str
    alone_us: float
    together_us: float
    slowdown: float
    steps: int


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
    jobs: Sequence[Job], server: SharedServer, most_transfers: int = MAX_SIMULATED_TRANSFERS
) -> Sharing | None:
    """Simulate jobs that share a server, and each by itself.

    In a step of a job its workers compute for the batch time and exchange all chunks meanwhile, as
    :func:`solver.placements.bandwidth.bandwidth` assumes; the next step begins when all of them
    have ended both. So a step alone takes the longer of the two. All jobs begin at once, and go on
    until each has run for six steps of the job with the longest; a step of each is the mean of its
    steps that end before the first job stops. Jobs that start together drift apart, and one may
    gain up to half a step once by that. No simulation makes more than ``most_transfers``.

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
    steps = _steps(jobs, server)
    size = simulated_chunk(
        server.chunk_bytes,
        most_transfers,
        max(key.bytes for job in jobs for key in job.keys),
        lambda size: _transfer_count(jobs, steps, size),
    )
    if size is None:
        return None
    alone: dict[Job, float] = {}
    for job in (replace(job, name="") for job in jobs):
        if job not in alone:
            ((alone[job],),) = _step_ends([job], [1], server, size)
    ends_of = _step_ends(jobs, steps, server, size)
    stop = min(ends[-1] for ends in ends_of)
    found = []
    for job, ends in zip(jobs, ends_of, strict=True):
        count = max(1, sum(end <= stop for end in ends))
        time, before = ends[count - 1] / count, alone[replace(job, name="")]
        found.append(SharedJob(job.name, before, time, time / before, count))
    return Sharing(tuple(found), size, _transfer_count(jobs, steps, size))


def _steps(jobs: Sequence[Job], server: SharedServer) -> list[int]:
    """Give every job as many steps as keep it busy while the longest one runs its own."""
    alone = []
    for job in jobs:
        size = sum(key.bytes for key in job.keys)
        on_worker = size / bytes_per_us(server.worker_gbps)
        on_server = size * job.workers / bytes_per_us(server.interface_gbps) / server.interfaces
        alone.append(max(job.batch_time_us, on_worker, on_server))
    return [math.ceil(_STEPS * max(alone) / time) for time in alone]


def _transfer_count(jobs: Sequence[Job], steps: Sequence[int], size: int) -> int:
    return sum(
        2 * count * job.workers * chunk_count(job.keys, size)
        for job, count in zip(jobs, steps, strict=True)
    )


def _step_ends(
    jobs: Sequence[Job], steps: Sequence[int], server: SharedServer, size: int
) -> list[list[float]]:
    """Simulate jobs that begin at once, and return when each step of each ends [us]."""
    keys = [key for job in jobs for key in job.keys]
    chunks = lay_out(keys, size, 1, server.interfaces, server.cores).chunks
    ops: list[Op] = []
    last: list[list[int]] = []  # of each step of each job
    first_key = 0
    for j, (job, count) in enumerate(zip(jobs, steps, strict=True)):
        keys_end = first_key + len(job.keys)
        own = [chunk for chunk in chunks if first_key <= chunk.key < keys_end]
        first_key = keys_end
        last.append([])
        begin: tuple[str, ...] = ()
        for step in range(count):
            begin = _step(ops, f"job{j}", f"job{j}.step{step}", own, job, begin, server)
            last[-1].append(len(ops) - 1)
    rates = {
        "worker": 1 / bytes_per_us(server.worker_gbps),
        "nic": 1 / bytes_per_us(server.interface_gbps),
        "core": 1e-3 / (server.aggregate_gbytes_per_s or math.inf),
    }
    channels = {op.channel: rates[_kind(op.channel)] for op in ops if op.bytes}
    ends = run("jobs", ops, channels).ends
    return [[ends[step] for step in of_job] for of_job in last]


def _kind(channel: str) -> str:
    """Say what a channel is of: ``job0.worker1.out``, ``server.nic2.in``, ``server.nic2.core3``."""
    if channel.startswith("job"):
        return "worker"
    return "core" if "core" in channel else "nic"


def _step(
    ops: list[Op],
    of_job: str,
    name: str,
    chunks: Sequence[Chunk],
    job: Job,
    begin: tuple[str, ...],
    server: SharedServer,
) -> tuple[str, ...]:
    """Add a step of a job; return what the next one comes after."""
    workers = range(job.workers)
    ended = list(join(ops, f"{name}.compute", begin, job.batch_time_us))
    pushed: list[list[str]] = [[] for _ in chunks]
    for c, chunk in enumerate(chunks):
        for w in workers:
            path = [f"{of_job}.worker{w}.out", f"server.nic{chunk.interface}.in"]
            pushed[c] += carry(ops, f"{name}.push{c}.{w}", chunk.bytes, path, begin)
    for c, chunk in enumerate(chunks):
        total = f"{name}.sum{c}"
        if server.aggregate_gbytes_per_s is None:
            join(ops, total, pushed[c])
        else:
            core = f"server.nic{chunk.interface}.core{chunk.core}"
            summed = job.workers * chunk.bytes
            ops.append(Op(total, ALL_REDUCE, None, summed, tuple(pushed[c]), core))
        for w in workers:
            path = [f"server.nic{chunk.interface}.out", f"{of_job}.worker{w}.in"]
            ended += carry(ops, f"{name}.pull{c}.{w}", chunk.bytes, path, (total,))
    return join(ops, f"{name}.end", ended)


def job_faults(jobs: Sequence[Job]) -> Iterator[Fault]:
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
    yield from core_faults(server.interfaces * server.cores, "/server")
    if server.aggregate_gbytes_per_s is not None:
        rate = server.aggregate_gbytes_per_s
        yield from real("/server/aggregate_gbytes_per_s", "aggregate_gbytes_per_s", rate)
