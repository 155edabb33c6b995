"""One step of a timeline as a graph: its tensors, and the compute between their releases."""

from collections.abc import Iterator, Mapping, Sequence

from solver.graph import COMPUTE, Op
from solver.traces.horovod.launches import KINDS, TensorLaunch
from solver.traces.horovod.steps import TimelineStep, buffers


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
        ops.append(Op(f"grad:{launch.tensor}", kind, None, sizes[launch.tensor], last))
    waits = (*last, *(op.id for op in ops if op.kind != COMPUTE))
    return [*ops, Op("forward", COMPUTE, round(rest, 3), None, waits)]


def measured_times(
    launches: Sequence[TensorLaunch], sizes: Mapping[str, int]
) -> Iterator[tuple[str, float]]:
    """Yield id and recorded time [us] of each tensor in the order in which they were sent.

    A buffer's time is shared among its tensors by bytes.
    """
    for group in buffers(launches):
        total = sum(sizes[launch.tensor] for launch in group)
        for launch in group:
            yield f"grad:{launch.tensor}", group[0].time * sizes[launch.tensor] / total
