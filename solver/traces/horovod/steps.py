"""The steps of a timeline, and the buffers in which their tensors were fused."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from solver.traces.horovod.launches import KINDS, TensorLaunch

#: Times of two tensors of one buffer that are written one right after the other are so near [us],
_STAMPS = 50.0
#: or nearer than this share of the operation.
_APART = 0.1


class TimelineStep(NamedTuple):
    """Launches between two of the same tensor.

    Attributes
    ----------
    launches
        By when they were ready; each of another tensor.
    next
        When the step after it begins [us]; None of the last one.
    """

    launches: tuple[TensorLaunch, ...]
    next: float | None

    @property
    def begin(self) -> float:
        """When the first tensor was ready [us]."""
        return self.launches[0].ready

    @property
    def end(self) -> float:
        """When the last operation was over [us]."""
        return max(launch.end for launch in self.launches)

    @property
    def length(self) -> float | None:
        """Time until the next step begins [us]; None of the last one."""
        return None if self.next is None else self.next - self.begin

    @property
    def rest(self) -> float | None:
        """Time from the last operation to the next step [us]; None of the last one."""
        return None if self.next is None else max(self.next - self.end, 0.0)


class RepeatedSteps(NamedTuple):
    """What a timeline repeats.

    Attributes
    ----------
    regular
        The steps with the tensors that most steps have.
    others
        How many have other tensors.
    """

    regular: tuple[TimelineStep, ...]
    others: int


def split_steps(launches: Iterable[TensorLaunch], sizes: Mapping[str, int]) -> RepeatedSteps:
    """Split launches, by when they were ready, into steps.

    A step ends where a tensor is ready that is in it already. Of the steps those count whose set
    of tensors is the most frequent, then of the most bytes, then the first: a metric that is
    averaged after each epoch makes steps of its own, and so do the parameters that are sent
    before the first.

    Parameters
    ----------
    launches
        All of a file; those of a kind that no step repeats are left out.
    sizes
        Bytes of tensors by name, as far as they are known.

    Notes
    -----
    O(launches).
    """
    parts: list[list[TensorLaunch]] = []
    seen: set[str] = set()
    for launch in launches:
        if launch.operation not in KINDS:
            continue
        if not parts or launch.tensor in seen:
            parts.append([])
            seen = set()
        seen.add(launch.tensor)
        parts[-1].append(launch)
    if not parts:
        return RepeatedSteps((), 0)
    begins = [*(part[0].ready for part in parts[1:]), None]
    steps = [TimelineStep(tuple(part), begin) for part, begin in zip(parts, begins, strict=True)]
    names = [frozenset(launch.tensor for launch in step.launches) for step in steps]
    count = Counter(names)
    most = max(count, key=lambda one: (count[one], sum(sizes.get(name, 0) for name in one)))
    regular = tuple(step for step, own in zip(steps, names, strict=True) if own == most)
    return RepeatedSteps(regular, len(steps) - len(regular))


def buffers(launches: Sequence[TensorLaunch]) -> list[tuple[TensorLaunch, ...]]:
    """Group launches that shared one operation, by its start and then by when they were ready.

    Horovod begins an operation for all tensors of a buffer before it ends it for any, and both one
    tensor right after another: where the next begins or ends much later, it is of another buffer.
    """
    groups: dict[tuple[int, str] | int, list[TensorLaunch]] = {}
    for i, launch in enumerate(launches):
        key = -1 - i if launch.run is None else (launch.run, launch.operation)
        groups.setdefault(key, []).append(launch)
    parts = [
        part
        for group in groups.values()
        for one in _split(group, lambda launch: launch.operated[0])
        for part in _split(one, lambda launch: launch.operated[1])
    ]
    return sorted((tuple(sorted(part, key=_ready)) for part in parts), key=_start)


def _split(
    group: Sequence[TensorLaunch], time: Callable[[TensorLaunch], float]
) -> list[list[TensorLaunch]]:
    """Split launches where a time of one is much later than that of the one before it."""
    if len(group) == 1:
        return [list(group)]
    parts: list[list[TensorLaunch]] = []
    for launch in sorted(group, key=time):
        last = parts[-1][-1] if parts else None
        if last is None or time(launch) - time(last) > max(_STAMPS, _APART * last.time):
            parts.append([])
        parts[-1].append(launch)
    return parts


def _ready(launch: TensorLaunch) -> float:
    return launch.ready


def _start(group: Sequence[TensorLaunch]) -> float:
    return group[0].start
