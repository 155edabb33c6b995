"""Recorded launches against what a network can carry: what is faster tells no cost."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from solver.costs.fastest_links import fastest_link, least_us_per_byte
from solver.limits import MAX_WORKERS
from solver.traces.sentences import counted
from solver.traces.trace import Sample, Trace


def without_impossible(trace: Trace) -> tuple[Trace, tuple[str, ...]]:
    """Leave out the launches of each kind on each channel of which most are faster than any link.

    Single ones that are too short are left to the fit
    (:mod:`solver.calibration.short_launches`).

    Returns
    -------
    tuple
        The trace, with a warning for each kind that was left out, and the same warnings.

    Notes
    -----
    O(n log n) for n samples.
    """
    workers = {channel.name: channel.workers for channel in trace.channels}
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in trace.samples:
        groups.setdefault((sample.channel, sample.kind), []).append(sample)
    said = {
        place: sentence
        for place, some in groups.items()
        if workers.get(place[0]) != 1  # one worker alone sends nothing
        for sentence in _faster_than_any_link(some, workers.get(place[0]))
    }
    if not said:
        return trace, ()
    kept = tuple(one for one in trace.samples if (one.channel, one.kind) not in said)
    warnings = tuple(said.values())
    report = replace(trace.report, warnings=(*trace.report.warnings, *warnings))
    return replace(trace, samples=kept, report=report), warnings


def _faster_than_any_link(some: Sequence[Sample], workers: int | None) -> Iterator[str]:
    """Say so where most launches of a kind took less time than the fastest link needs."""
    shared = min(max(workers or 2, 2), MAX_WORKERS)  # of two workers the fewest bytes pass a link
    kind, channel = some[0].kind, some[0].channel
    least = least_us_per_byte(shared, kind)
    rates = sorted(one.bytes / one.time_us for one in some if one.time_us > 0)
    middle = median(rates) if rates else 0.0
    if middle * least > 1:
        link = fastest_link(shared)
        rate = middle * least * link.gbps
        yield (
            f"{kind} on {channel}: in the median of {counted(len(some), 'launch', 'launches')} a "
            f"link would carry {rate:,.0f} Gbit/s, and the fastest known carries {link.gbps:,.0f} "
            f"({link.name}). These times are not those of a network, so no cost is given."
        )
