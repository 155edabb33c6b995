"""Recorded launches against what a network can carry: what is faster tells no cost."""

from dataclasses import replace

from solver.calibration.impossible import impossible, impossible_said
from solver.traces.trace import Trace


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
    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for one in trace.samples:
        groups.setdefault((one.channel, one.kind), []).append((one.bytes, one.time_us))
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
