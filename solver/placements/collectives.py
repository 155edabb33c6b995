"""All-reduces of workers among themselves, as Gloo has them, message by message."""

from collections.abc import Callable, Sequence

from solver.costs import Affine, ChannelCost, Network
from solver.graph import ALL_REDUCE, BROADCAST, COMPUTE, Op, build
from solver.placements.exchange_graph import Hosts
from solver.placements.transfers import START, join
from solver.policies.wfbp import wfbp
from solver.simulation.engine import iteration_time
from solver.units import bytes_per_us

#: What must have ended before an op begins.
After = tuple[str, ...]
#: From the bytes of the model and how many workers there are to the ops.
Collective = Callable[[int, int], list[Op]]


def ring(size: int, workers: int) -> list[Op]:
    """Send whole buffers around: in each of N - 1 rounds what came in the last one is passed on.

    A worker sums what arrives before it passes it on.
    """
    ops = [Op(START, COMPUTE, 0.0)]
    after: list[After] = [(START,)] * workers
    for hop in range(workers - 1):
        came = [_send(ops, f"round{hop}.{w}", size, w, after[w]) for w in range(workers)]
        for w in range(workers):
            arrived = came[(w - 1) % workers]
            after[w] = _sum(ops, f"round{hop}.sum{w}", size, w, (*arrived, *after[w]))
    _update(ops, size, after)
    return ops


def ring_chunked(size: int, workers: int) -> list[Op]:
    """Reduce-scatter, then all-gather, in a ring: 2 (N - 1) rounds of an N-th each."""
    ops = [Op(START, COMPUTE, 0.0)]
    after: list[After] = [(START,)] * workers
    for hop in range(2 * (workers - 1)):
        part = [_share(size, workers, (w - hop) % workers) for w in range(workers)]
        came = [_send(ops, f"round{hop}.{w}", part[w], w, after[w]) for w in range(workers)]
        for w in range(workers):
            arrived = (*came[(w - 1) % workers], *after[w])
            if hop < workers - 1:
                bytes_ = part[(w - 1) % workers]
                after[w] = _sum(ops, f"round{hop}.sum{w}", bytes_, w, arrived)
            else:
                after[w] = join(ops, f"round{hop}.have{w}", arrived)
    _update(ops, size, after)
    return ops


def halving_doubling(size: int, workers: int) -> list[Op]:
    """Exchange halves, quarters, ... with ever nearer workers and sum them, then back.

    Of a power of two of workers: 2 log N rounds, in which each sends (N - 1)/N of the model twice.

    References
    ----------
    .. [1] R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication
           operations in MPICH, 2005.
    """
    ops = [Op(START, COMPUTE, 0.0)]
    after: list[After] = [(START,)] * workers
    rounds = workers.bit_length() - 1
    for step in range(2 * rounds):
        is_reduced = step < rounds
        level = step if is_reduced else 2 * rounds - 1 - step
        part, distance = max(1, size >> (level + 1)), workers >> (level + 1)
        came = [_send(ops, f"round{step}.{w}", part, w, after[w]) for w in range(workers)]
        for w in range(workers):
            arrived = (*came[w ^ distance], *after[w])
            if is_reduced:
                after[w] = _sum(ops, f"round{step}.sum{w}", part, w, arrived)
            else:
                after[w] = join(ops, f"round{step}.have{w}", arrived)
    _update(ops, size, after)
    return ops


#: By name; whether so many workers can be simulated is what :func:`can_run` says.
COLLECTIVES: dict[str, Collective] = {
    "gloo_ring": ring,
    "gloo_ring_chunked": ring_chunked,
    "gloo_halving_doubling": halving_doubling,
}


def can_run(name: str, workers: int) -> bool:
    """Tell whether a collective is known for so many workers.

    Halving and doubling is for powers of two; Gloo's binary blocks for others are not modelled.
    """
    return name != "gloo_halving_doubling" or workers & (workers - 1) == 0


def message_count(name: str, workers: int) -> int:
    """Count the messages that all workers send."""
    rounds = {
        "gloo_ring": workers - 1,
        "gloo_ring_chunked": 2 * (workers - 1),
        "gloo_halving_doubling": 2 * (workers.bit_length() - 1),
    }
    return workers * rounds[name]


def collective_us(name: str, size: int, hosts: Hosts, gbps: float) -> float:
    """Time of an all-reduce among workers, and of the update that each then makes [us].

    A message holds its sender's interface: in each round a worker sends to one and receives from
    one. It pays its start-up, and a queue pair where the interface has more than it holds. All
    cores of a worker sum what has arrived, then the next round begins; the last round is followed
    by the update of the whole model on every worker. Gradients exist at time 0.

    Parameters
    ----------
    name
        Of :data:`COLLECTIVES`.
    size
        The model [bytes].
    hosts
        Workers, their machine, and the cores of an interface, of which each worker has one.
    gbps
        Bandwidth of each network interface, each direction [Gbit/s].

    References
    ----------
    .. [1] PHub, Section 5, Figure 20.
    """
    workers, machine = hosts.workers, hosts.machine
    ops = COLLECTIVES[name](size, workers)
    peers = 1 if workers == 1 else message_count(name, workers) // workers
    startup = machine.startup_us + machine.fetch_us(min(peers, 2) if "ring" in name else peers // 2)
    rate, update = hosts.aggregate_gbytes_per_s, machine.update_gbytes_per_s

    def per_byte(gbytes_per_s: float | None) -> float:
        return 1e-3 / (gbytes_per_s * hosts.cores) if gbytes_per_s else 0.0

    def cost(lane: ChannelCost) -> Affine:
        if lane.channel.endswith("out"):
            return Affine(startup, 1 / bytes_per_us(gbps))
        return Affine(0.0, per_byte(update if lane.channel.endswith("update") else rate))

    return iteration_time(build(name, ops), Network(cost), wfbp)


def _send(ops: list[Op], name: str, size: int, worker: int, after: After) -> After:
    ops.append(Op(name, BROADCAST, None, size, after, f"worker{worker}.out"))
    return (name,)


def _sum(ops: list[Op], name: str, size: int, worker: int, after: After) -> After:
    ops.append(Op(name, ALL_REDUCE, None, size, after, f"worker{worker}.cores"))
    return (name,)


def _update(ops: list[Op], size: int, after: Sequence[After]) -> None:
    for w, ready in enumerate(after):
        ops.append(Op(f"update{w}", ALL_REDUCE, None, size, ready, f"worker{w}.update"))


def _share(size: int, workers: int, part: int) -> int:
    """Size of one of as many parts as workers, a byte at least."""
    return max(1, size * (part + 1) // workers - size * part // workers)
