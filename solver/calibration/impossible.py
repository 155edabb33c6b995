"""Measured launches that no network can have carried, and costs that none has."""

from solver.calibration.fits.samples import Samples
from solver.costs.fastest_links import (
    SHORTEST_LAUNCH_US,
    SLOWEST_GBPS,
    fastest_link,
    least_us_per_byte,
    most_us_per_byte,
)
from solver.limits import MAX_WORKERS

#: From what share of the time of the fastest link on a rise is one.
_FLAT = 0.5
#: Start-ups and waits differ by so much: a smaller rise with bytes tells no bandwidth [us].
_NOISE_US = 1e3


def impossible(samples: Samples, workers: int | None, kind: str) -> int:
    """Count the launches that took less time than their bytes need over the fastest link.

    Parameters
    ----------
    samples
        Bytes and time [us] of each launch.
    workers
        That took part; None where that is not known, and then the fewest bytes pass a link.
    kind
        Of collective.
    """
    least = least_us_per_byte(_at_least_two(workers), kind)
    return sum(time < least * size for size, time in samples) if workers != 1 else 0


def impossible_said(samples: Samples, workers: int | None, kind: str) -> str:
    """Say how many launches are impossible; empty where none is."""
    count = impossible(samples, workers, kind)
    link = fastest_link(_at_least_two(workers))
    return (
        f"{count:,} of {len(samples):,} launches of {kind} are faster than the fastest known link, "
        f"{link.gbps:,.0f} Gbit/s ({link.name}): their times are not those of a network."
        if count
        else ""
    )


def too_soon_said(samples: Samples, kind: str) -> str:
    """Say how many launches take no time that anything could be sent in; empty where none does."""
    count = sum(time < SHORTEST_LAUNCH_US for _, time in samples)
    return (
        f"{count:,} of {len(samples):,} launches of {kind} take less than 1 ns, in which light "
        "goes 0.3 m: their times are not those of a network."
        if count
        else ""
    )


def flat_said(span: tuple[int, int], rise: float, workers: int | None, kind: str) -> str:
    """Say that a cost grows with bytes by less than half of the fastest link's time; else empty.

    By half, since launches of the least bytes may be of an algorithm that starts up later.

    Parameters
    ----------
    span
        Least and most bytes that were measured; where they are one nothing is said.
    rise
        How much more the most bytes cost than the least [us].
    workers, kind
        As of :func:`impossible`.
    """
    least = least_us_per_byte(_at_least_two(workers), kind) * (span[1] - span[0])
    if workers == 1 or rise >= _FLAT * least:
        return ""
    return (
        f"Launches of {kind} take as long for {span[0]:,} bytes as for {span[1]:,}: a byte would "
        "cost as good as nothing, and no bandwidth follows. So it is where launches hang, or wait "
        "for others, or where all are short."
    )


def slow_said(span: tuple[int, int], rise: float, workers: int | None, kind: str) -> str:
    """Say that a cost grows with bytes faster than over the slowest network; else empty.

    ``span``, ``rise``, ``workers`` and ``kind`` are as of :func:`flat_said`. A rise below 1 ms is
    what start-ups and waits differ by, and tells nothing.
    """
    most = most_us_per_byte(_at_least_two(workers), kind) * (span[1] - span[0])
    if workers == 1 or rise <= max(most, _NOISE_US):
        return ""
    gbps = SLOWEST_GBPS * most / rise
    return (
        f"The bandwidth of {kind} comes out as {gbps:.2g} Gbit/s, less than the {SLOWEST_GBPS:g} "
        "Gbit/s of the slowest network, the first Ethernet: its times are those of launches that "
        "hang or wait, or of another unit."
    )


def _at_least_two(workers: int | None) -> int:
    return min(max(workers or 2, 2), MAX_WORKERS)
