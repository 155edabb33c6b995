"""When the ranks of several files came to their collectives."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import nan
from typing import NamedTuple

from solver.arrivals.arrival import Arrival
from solver.arrivals.report import ArrivalReport, arrival_report
from solver.traces.kineto.channels import written_group
from solver.traces.kineto.line import Busy
from solver.traces.kineto.payload_sizes import is_between_stages, kind_of
from solver.traces.kineto.recording import RankRecording, RecordedCollective
from solver.traces.kineto.sized_collectives import size_of
from solver.traces.kineto.steps import ProfiledStep
from solver.traces.kineto.waits import SLACK
from solver.traces.trace import TraceChannel


class RankFile(NamedTuple):
    """One rank's file, sorted.

    Attributes
    ----------
    recording, steps
        What it did, and in which steps.
    channels
        Of its collectives, by name.
    number
        Of the rank; None where the file does not tell.
    """

    recording: RankRecording
    steps: Sequence[ProfiledStep]
    channels: Mapping[str, TraceChannel]
    number: int | None


def arrivals_of(files: Sequence[RankFile]) -> ArrivalReport | None:
    """Judge from the files of several ranks who comes late; None of one rank.

    A collective is the same on ranks that launched the same kinds in the step, by its place among
    those of its process group. A rank works from the end of a collective for which all its streams
    stood still until it comes to the next: one that ended while it computed was not waited for.
    Transfers between stages are left out, since their two ranks do not do the same work.

    Notes
    -----
    O(n log n) for n events.
    """
    if len(files) < 2:  # noqa: PLR2004 - one rank is compared with none
        return None
    numbers = [file.number for file in files]
    ranks = [n for n in numbers if n is not None]
    notes = []
    if len(ranks) < len(files):
        ranks = list(range(len(files)))
        notes.append("Ranks are numbered as the files were given, from 0.")
    found: list[Arrival] = []
    loose: dict[str, None] = {}
    kinds: dict[int | None, list[str]] = {}
    for rank, file in zip(ranks, files, strict=True):
        since = _Waits(file)
        for step in file.steps:
            own = [kind_of(one)[0] for one in step.collectives]
            if kinds.setdefault(step.number, own) == own:
                found += _of_step(rank, file, step, since, loose)
    if loose:
        notes.append(
            f"Collectives of {', '.join(loose)} are left out: their process groups are not "
            "written, so which ranks meet is not known."
        )
    return arrival_report(found, notes)


class _Waits:
    """When a rank last waited for a collective [us]."""

    def __init__(self, file: RankFile) -> None:
        busy = Busy(file.recording.works)
        ends = sorted(one.work.end for step in file.steps for one in step.collectives)
        self._ends = [end for end in ends if not self._is_busy(busy, end)]

    @staticmethod
    def _is_busy(busy: Busy, at: float) -> bool:
        i = bisect_right(busy.starts, at - SLACK) - 1
        return i >= 0 and busy.ends[i] > at + SLACK

    def before(self, at: float, since: float) -> float:
        """Return the last end before a time that was waited for; nan of none since another."""
        i = bisect_right(self._ends, at + SLACK)
        return self._ends[i - 1] if i and self._ends[i - 1] >= since else nan


def _of_step(
    rank: int, file: RankFile, step: ProfiledStep, waits: _Waits, loose: dict[str, None]
) -> Iterator[Arrival]:
    """Yield what one rank launched in a step; the names of channels of no known group to loose."""
    place: dict[str, Iterator[int]] = {}
    number = 0 if step.number is None else step.number
    before = [other.begin for other in file.steps if other.number == number - 1]
    begun = min([step.begin, *before])  # steps before it may not have been recorded
    for i, one in enumerate(step.collectives):
        channel = one.work.stream
        group = _group(file, one)
        if group is None:
            loose[channel] = None
        if group is None or is_between_stages(one):
            continue
        kind, size, _ = size_of(one, file.channels, file.recording.workers)
        yield Arrival(
            rank,
            number,
            f"{kind} {i + 1}",
            channel,
            group,
            number * 2**32 + next(place.setdefault(group, count())),
            kind,
            size,
            one.work.start,
            one.work.end,
            waits.before(one.work.start, begun),
        )


def _group(file: RankFile, one: RecordedCollective) -> str | None:
    """Name the ranks that meet: by number where they are known; None where they are not."""
    channel = file.channels.get(one.work.stream)
    if channel is None:  # of unknown bytes, on a channel of its own
        return None
    own = written_group(one)
    listed = {group.name: group for group in file.recording.groups}
    known = own and (own.ranks or (own.name in listed and listed[own.name].ranks))
    if known:
        whole = len(known) == file.recording.workers
        return channel.name if whole else f"{channel.name} {list(known)}"
    if file.recording.workers and channel.workers and channel.workers < file.recording.workers:
        return None
    return channel.name
