"""One step of a timeline as a graph: compute between releases, Horovod's loop, and its tensors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from solver.graph import COMPUTE, Graph, Op, build
from solver.graph.names import GRADIENT
from solver.traces.horovod.launches import KINDS
from solver.traces.horovod.loop import LATE_DATA, HeldLaunch, LoopWait
from solver.traces.horovod.steps import TimelineStep


def ops_of(step: TimelineStep, sizes: Mapping[str, int], rest: float) -> list[Op]:
    """Build the iteration that begins with the first release.

    What ran between two releases is an op of the backward pass; what ran from the last operation
    to the next step, optimizer and forward pass, is one that waits for all tensors.

    Parameters
    ----------
    step
        Its launches, by release.
    sizes
        Bytes by tensor.
    rest
        Time from the last operation, or the last release, to the next step [us].

    Notes
    -----
    O(launches).
    """
    ops: list[Op] = []
    last: tuple[str, ...] = ()
    at, parts = 0.0, 0
    for launch in step.launches:
        release = round(launch.ready - step.begin, 3)
        if release > at:
            parts += 1
            name = f"backward {parts}"
            ops.append(Op(name, COMPUTE, round(release - at, 3), None, last))
            last, at = (name,), release
        kind = KINDS[launch.operation]
        ops.append(Op(GRADIENT + launch.tensor, kind, None, sizes[launch.tensor], last))
    waits = (*last, *(op.id for op in ops if op.kind != COMPUTE))
    return [*ops, Op("forward", COMPUTE, round(rest, 3), None, waits)]


def with_waits(ops: Iterable[Op], waits: Iterable[LoopWait]) -> list[Op]:
    """Put the waits of Horovod's loop between what releases tensors and their collectives.

    Each is an op on the stream of its kind, since the loop does one after another: it begins when
    the last of its tensors is released, and they all wait for it.

    Parameters
    ----------
    ops
        Where each tensor follows what releases it.
    waits
        Of tensors among them.

    Notes
    -----
    O(ops + edges).
    """
    known = {op.id: op for op in ops}
    after: dict[str, list[str]] = {}
    added: dict[str, list[Op]] = {}
    for wait in waits:
        ids = [GRADIENT + tensor for tensor in wait.tensors]
        own = added.setdefault(wait.stream, [])
        name = f"{wait.stream} {len(own) + 1}"
        released = tuple(dict.fromkeys(one for id_ in ids for one in known[id_].after))
        slowdown = None if wait.stream == LATE_DATA else ()  # nothing slows a negotiation
        time = round(wait.time, 3)
        own.append(Op(name, COMPUTE, time, None, released, stream=wait.stream, slowdown=slowdown))
        for id_ in ids:
            after.setdefault(id_, []).append(name)
    moved = [op._replace(after=tuple(after.get(op.id, op.after))) for op in known.values()]
    return [*moved, *(op for own in added.values() for op in own)]


def as_it_ran(graph: Graph, launches: Sequence[HeldLaunch]) -> Graph:
    """Return a step as Horovod ran it: a buffer waits for all its tensors, all else for them all.

    Notes
    -----
    O(ops + edges).
    """
    known = {op.id: op for op in graph.ops}
    after: dict[str, tuple[str, ...]] = {}
    for launch in launches:
        ids = [GRADIENT + one.tensor for one in launch.tensors]
        waits = tuple(dict.fromkeys(wait for id_ in ids for wait in known[id_].after))
        after |= dict.fromkeys(ids, waits)
    sent = tuple(after)
    next_pass = next(op for op in graph.ops if op.id.startswith(("update:", "forward")))
    after[next_pass.id] = tuple(dict.fromkeys((*next_pass.after, *sent)))
    ops = [op._replace(after=after.get(op.id, op.after)) for op in graph.ops]
    return build(graph.name, ops)


def measured_times(
    launches: Iterable[HeldLaunch], sizes: Mapping[str, int]
) -> Iterator[tuple[str, float]]:
    """Yield id and recorded time [us] of each tensor in the order in which they were sent.

    What a launch held its channel is shared among its tensors by bytes.
    """
    for launch in launches:
        total = sum(sizes[one.tensor] for one in launch.tensors)
        for one in launch.tensors:
            yield GRADIENT + one.tensor, launch.time * sizes[one.tensor] / total
