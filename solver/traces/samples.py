"""What recorded launches tell of the cost of their channel."""

from collections.abc import Iterable, Iterator

from solver.traces.trace import Sample


def samples_of(
    channel: str, kind: str, size: int | None, times: Iterable[float | None]
) -> Iterator[Sample]:
    """Yield the sample of a launch, none where no time or size is known.

    Parameters
    ----------
    channel, kind
        Of the launch.
    size
        Its bytes.
    times
        How long each rank was in it [us]; None of one whose time tells no cost. The least counts:
        it has the least waiting for others in it.
    """
    least = min((time for time in times if time is not None), default=0.0)
    if size and least > 0:
        yield Sample(channel, kind, size, round(least, 3))
