"""Exchanges across racks as ops: every worker with every server, or by racks."""

from collections.abc import Sequence

from solver.graph import COMPUTE, Op
from solver.placements.chunks import Chunk
from solver.placements.transfers import START, carry, join

#: How the servers of the racks sum what their racks have summed.
SHARDED, RING = "sharded", "ring"
ACROSS = (SHARDED, RING)

#: What must have ended before an op begins.
After = tuple[str, ...]


def _route(host: str, rack: int, other: str, to: int) -> list[str]:
    """Channels from a host of a rack to one of the same or another rack."""
    core = [] if rack == to else [f"rack{rack}.core.out", f"rack{to}.core.in"]
    return [f"rack{rack}.{host}.out", *core, f"rack{to}.{other}.in"]


def flat(chunks: Sequence[Chunk], racks: int, workers: int, *, steps: bool) -> list[Op]:
    """Build one exchange of every worker with every server.

    A chunk goes to the server that has it, which sends the sum back to all workers. In ``steps``
    the pulls begin when all pushes have arrived.
    """
    ops = [Op(START, COMPUTE, 0.0)]
    hosts = [(r, f"worker.{w}") for r in range(racks) for w in range(workers)]
    pushed = [
        [
            end
            for h, (r, host) in enumerate(hosts)
            for end in carry(
                ops, f"push{c}.{h}", chunk.bytes, _route(host, r, "server", chunk.server), (START,)
            )
        ]
        for c, chunk in enumerate(chunks)
    ]
    for c, (chunk, after) in enumerate(
        zip(chunks, _steps(ops, "push", pushed, steps=steps), strict=True)
    ):
        for h, (r, host) in enumerate(hosts):
            path = _route("server", chunk.server, host, r)
            carry(ops, f"pull{c}.{h}", chunk.bytes, path, after)
    return ops


def hierarchical(
    chunks: Sequence[Chunk], racks: int, workers: int, across: str, *, steps: bool
) -> list[Op]:
    """Build one exchange by racks.

    Workers push to their rack's server, the servers sum ``across`` racks, each sends back to its
    own workers.
    """
    ops = [Op(START, COMPUTE, 0.0)]
    every, each = range(racks), range(workers)
    pushed = [
        [
            end
            for w in each
            for end in carry(
                ops,
                f"push{c}.{r}.{w}",
                chunk.bytes,
                _route(f"worker.{w}", r, "server", r),
                (START,),
            )
        ]
        for c, chunk in enumerate(chunks)
        for r in every
    ]
    summed = iter(_steps(ops, "push", pushed, steps=steps))
    ready = [[next(summed) for _ in every] for _ in chunks]
    cross = _by_ring if across == RING else _by_shards
    arrived = [after for row in cross(ops, chunks, ready, steps=steps) for after in row]
    totals = iter(_steps(ops, "back", arrived, steps=steps))
    for c, chunk in enumerate(chunks):
        for r in every:
            after = next(totals)
            for w in each:
                path = _route("server", r, f"worker.{w}", r)
                carry(ops, f"pull{c}.{r}.{w}", chunk.bytes, path, after)
    return ops


def _steps(
    ops: list[Op], name: str, groups: Sequence[Sequence[str]], *, steps: bool
) -> list[After]:
    """Sum each group where all of it has arrived; in steps, go on when all groups have."""
    sums = [join(ops, f"{name}sum{g}", group) for g, group in enumerate(groups)]
    if not steps:
        return sums
    return [join(ops, f"{name}end", [end for after in sums for end in after])] * len(sums)


def _by_shards(
    ops: list[Op], chunks: Sequence[Chunk], ready: Sequence[Sequence[After]], *, steps: bool
) -> list[list[After]]:
    """Each server sends its sums to the server that has the chunk, which sends back the total."""
    every = range(len(ready[0]))
    summed = []
    for c, chunk in enumerate(chunks):
        summed.append(list(ready[c][chunk.server]))
        for r in every:
            if r != chunk.server:
                path = _route("server", r, "server", chunk.server)
                summed[-1] += carry(ops, f"across{c}.{r}", chunk.bytes, path, ready[c][r])
    totals = _steps(ops, "across", summed, steps=steps)
    return [
        [
            totals[c]
            if r == chunk.server
            else carry(
                ops,
                f"back{c}.{r}",
                chunk.bytes,
                _route("server", chunk.server, "server", r),
                totals[c],
            )
            for r in every
        ]
        for c, chunk in enumerate(chunks)
    ]


def _by_ring(
    ops: list[Op], chunks: Sequence[Chunk], ready: Sequence[Sequence[After]], *, steps: bool
) -> list[list[After]]:
    """Send each chunk around from the server behind its own, summed on the way, then again."""
    racks = len(ready[0])
    summed = []
    for c, chunk in enumerate(chunks):
        after = ready[c][(chunk.server + 1) % racks]
        for hop in range(1, racks):
            at, to = (chunk.server + hop) % racks, (chunk.server + hop + 1) % racks
            path = _route("server", at, "server", to)
            came = carry(ops, f"across{c}.{hop}", chunk.bytes, path, after)
            after = join(ops, f"part{c}.{hop}", (*came, *ready[c][to]))
        summed.append(after)
    totals = _steps(ops, "across", summed, steps=steps)
    arrived = []
    for c, chunk in enumerate(chunks):
        there: dict[int, After] = {chunk.server: totals[c]}
        for hop in range(racks - 1):
            at, to = (chunk.server + hop) % racks, (chunk.server + hop + 1) % racks
            path = _route("server", at, "server", to)
            there[to] = carry(ops, f"back{c}.{hop}", chunk.bytes, path, there[at])
        arrived.append([there[r] for r in range(racks)])
    return arrived
