"""Recorded launches against what networks can carry: what is faster tells no cost."""

from collections.abc import Iterator
from dataclasses import replace

from solver.calibration.channels import fit_channel, usable
from solver.calibration.impossible import impossible, impossible_said, slow_said, too_soon_said
from solver.limits import MAX_WORKERS
from solver.traces.trace import Trace

#: Ranks that are taken where none are said.
_PAIR = 2


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
    O(n) for n samples.
    """
    workers = {channel.name: channel.workers for channel in trace.channels}
    groups = {(channel, kind): some for channel, kind, some in _grouped(trace)}
    said = {
        (channel, kind): f"Channel {channel}: {impossible_said(some, shared, kind)} No cost is "
        "given."
        for (channel, kind), some in groups.items()
        for shared in [workers.get(channel)]
        if 2 * impossible(some, shared, kind) > len(some)
    }
    if not said:
        return trace, ()
    kept = tuple(one for one in trace.samples if (one.channel, one.kind) not in said)
    warnings = tuple(said.values())
    report = replace(trace.report, warnings=(*trace.report.warnings, *warnings))
    return replace(trace, samples=kept, report=report), warnings


def implausible_said(trace: Trace) -> Iterator[str]:
    """Say which launches take no time at all, and which channels are slower than any network.

    Their costs stay: single launches may be odd, and a slow network is not impossible.

    Notes
    -----
    O(n log n) for n samples.
    """
    workers = {channel.name: channel.workers for channel in trace.channels}
    channels: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for channel, kind, some in _grouped(trace):
        if said := too_soon_said(some, kind):
            yield f"Channel {channel}: {said}"
        if fitted := usable(some):
            channels.setdefault(channel, {})[kind] = fitted
    for channel, kinds in channels.items():
        count = min(workers.get(channel) or _PAIR, MAX_WORKERS)
        for fit in fit_channel(kinds, count) if count > 1 else ():
            span = (0, fit.measured[1])
            if said := slow_said(span, fit.line.us_per_byte * span[1], count, fit.kind):
                yield f"Channel {channel}: {said}"


def _grouped(trace: Trace) -> Iterator[tuple[str, str, list[tuple[int, float]]]]:
    """Yield bytes and times of the launches of each kind on each channel."""
    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for one in trace.samples:
        groups.setdefault((one.channel, one.kind), []).append((one.bytes, one.time_us))
    for (channel, kind), some in groups.items():
        yield channel, kind, some
