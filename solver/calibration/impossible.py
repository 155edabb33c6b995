"""Measured launches that no network can have carried: faster than the fastest known link."""

from solver.calibration.fits.samples import Samples
from solver.costs.fastest_links import fastest_link, least_us_per_byte
from solver.limits import MAX_WORKERS


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


def _at_least_two(workers: int | None) -> int:
    return min(max(workers or 2, 2), MAX_WORKERS)
