"""Training jobs on one server, as a graph of their steps."""

from collections.abc import Sequence
from dataclasses import dataclass

from solver.costs import ChannelCost, Cost, Network
from solver.graph import Op, build
from solver.placements.chunks import CHUNK_BYTES, Chunk, Key, lay_out
from solver.placements.exchange_graph import transfer_cost
from solver.placements.machine import PLAIN, ServerMachine
from solver.placements.sums import server_cost, sum_on
from solver.placements.transfers import carry, join
from solver.policies.wfbp import wfbp
from solver.simulation.engine import simulate
from solver.units import bytes_per_us


@dataclass(frozen=True, slots=True)
class TrainingJob:
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
    machine
        What transfers pay besides their bytes, and cross; its bandwidth of interfaces is not looked
        at, ``interface_gbps`` is.
    paid_bytes
        A transfer pays its start-up and its queue pair once for each so many bytes, where it stands
        for several; None for once.
    """

    worker_gbps: float
    interface_gbps: float
    interfaces: int = 1
    cores: int = 1
    aggregate_gbytes_per_s: float | None = None
    chunk_bytes: int = CHUNK_BYTES
    machine: ServerMachine = PLAIN
    paid_bytes: int | None = None


def step_ends(
    jobs: Sequence[TrainingJob],
    steps: Sequence[int],
    server: SharedServer,
    size: int,
    only: int | None = None,
) -> list[list[float]]:
    """Simulate jobs that begin at once, and return when each step of each ends [us].

    Parameters
    ----------
    jobs, steps
        The jobs, and how many steps of each.
    server
        What they share.
    size
        Of a chunk [bytes].
    only
        The job that runs, by itself, with its chunks where they are beside those of the others;
        None for all.
    """
    keys = [key for job in jobs for key in job.keys]
    chunks = lay_out(keys, size, 1, server.interfaces, server.cores).chunks
    ops: list[Op] = []
    last: list[list[int]] = []  # of each step of each job
    first_key = 0
    running = range(len(jobs)) if only is None else [only]
    for j, (job, count) in enumerate(zip(jobs, steps, strict=True)):
        keys_end = first_key + len(job.keys)
        own = [chunk for chunk in chunks if first_key <= chunk.key < keys_end]
        first_key = keys_end
        if j not in running:
            continue
        last.append([])
        begin: tuple[str, ...] = ()
        for step in range(count):
            begin = _step(ops, f"job{j}", f"job{j}.step{step}", own, job, begin, server)
            last[-1].append(len(ops) - 1)
    peers = sum(jobs[j].workers for j in running)
    ends = simulate(build("jobs", ops), _network(server, peers), wfbp).ends
    return [[ends[step] for step in of_job] for of_job in last]


def _network(server: SharedServer, peers: int) -> Network:
    """Return what channels cost: ``job0.worker1.out``, ``server.nic2.in``, ``server.nic2.core3``.

    An interface of the server has queue pairs with so many workers, a worker's with all interfaces.
    """
    at_worker, at_server = (
        1 / bytes_per_us(gbps) for gbps in (server.worker_gbps, server.interface_gbps)
    )

    def cost(lane: ChannelCost) -> Cost:
        if (inside := server_cost(server, lane)) is not None:
            return inside
        is_sender = lane.channel.endswith("out")
        if lane.channel.startswith("job"):
            return transfer_cost(server, at_worker, server.interfaces, is_sender=is_sender)
        return transfer_cost(server, at_server, peers, is_sender=is_sender)

    return Network(cost)


def _step(
    ops: list[Op],
    of_job: str,
    name: str,
    chunks: Sequence[Chunk],
    job: TrainingJob,
    begin: tuple[str, ...],
    server: SharedServer,
) -> tuple[str, ...]:
    """Add a step of a job; return what the next one comes after."""
    workers = range(job.workers)
    links = [f"server.{link}" for link in server.machine.links]
    ended = list(join(ops, f"{name}.compute", begin, job.batch_time_us))
    pushed: list[list[str]] = [[] for _ in chunks]
    for c, chunk in enumerate(chunks):
        for w in workers:
            path = [f"{of_job}.worker{w}.out", f"server.nic{chunk.interface}.in", *links]
            pushed[c] += carry(ops, f"{name}.push{c}.{w}", chunk.bytes, path, begin)
    for c, chunk in enumerate(chunks):
        total = sum_on(ops, f"{name}.sum{c}", chunk, "server", pushed[c], server)
        for w in workers:
            path = [*reversed(links), f"server.nic{chunk.interface}.out", f"{of_job}.worker{w}.in"]
            ended += carry(ops, f"{name}.pull{c}.{w}", chunk.bytes, path, total)
    return join(ops, f"{name}.end", ended)
