"""Which arm of a trial makes which step."""

from __future__ import annotations

from collections.abc import Iterator

#: Steps of each pass over the arms: to warm up, and measured. The second pass is in reverse, so
#: that a drift of the machine meets all arms alike. A DistributedDataParallel deals its buckets
#: anew in its second step.
PASSES = ((2, 3), (2, 3))

#: Measured steps of each arm.
MEASURED = sum(measured for _, measured in PASSES)


def steps_of(arms: int) -> Iterator[tuple[int, bool]]:
    """Yield the arm of each step, and whether its time counts: ten steps of each arm."""
    for k, (warm, measured) in enumerate(PASSES):
        order = range(arms) if k % 2 == 0 else reversed(range(arms))
        for arm in order:
            yield from ((arm, False) for _ in range(warm))
            yield from ((arm, True) for _ in range(measured))
