"""Which of NVTX's ranges are the steps of training: those that are named so, of one thread."""

import re
from collections.abc import Iterable

from solver.traces.nsys.tables import Range

_STEP = re.compile(
    r"(?i)((?:train(?:ing)?[\s_.-]*)?(?:profiler)?(?:step|iteration|iter|batch))[\s_#:=.()-]*(\d{1,9})?\)?"
)


def is_step(name: str) -> bool:
    """Tell whether a range may be a step by its name."""
    return _STEP.fullmatch(name) is not None


def step_ranges(ranges: Iterable[Range]) -> tuple[str, list[tuple[int, Range]]]:
    """Return the name that steps begin with, and the steps with their numbers by start.

    Where several names may be of steps, those are that took longest in all. Steps without
    numbers, or with one twice, are numbered in order from 0.
    """
    kinds: dict[tuple[str, int], list[tuple[int | None, Range]]] = {}
    for one in ranges:
        if named := _STEP.fullmatch(one.name):
            number = int(named[2]) if named[2] else None
            kinds.setdefault((named[1], one.thread), []).append((number, one))
    if not kinds:
        return "", []
    times = {key: sum(one.end - one.start for _, one in some) for key, some in kinds.items()}
    chosen = min(kinds, key=lambda key: (-times[key], key))
    steps = sorted(kinds[chosen], key=lambda one: one[1].start)
    numbers = [number for number, _ in steps]
    is_told = None not in numbers and len(set(numbers)) == len(numbers)
    return chosen[0], [
        (number if is_told and number is not None else i, one)
        for i, (number, one) in enumerate(steps)
    ]
