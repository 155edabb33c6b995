"""From dumps of several ranks to who comes late."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from solver.arrivals.arrival import Arrival
from solver.arrivals.report import arrival_report
from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.flight_recorder.dump import SIGNS, is_pickled
from solver.traces.exit_check import checked
from solver.traces.files import beginning, places_of
from solver.traces.flight_recorder.entries import FlightDump, FlightEntry, read_dumps
from solver.traces.flight_recorder.repeats import SeriesLaunch, steps_of
from solver.traces.kineto.groups import titles
from solver.traces.report import Total, report_of
from solver.traces.sentences import counted
from solver.traces.trace import Trace, TraceOptions

FORMAT = "flight_recorder"

_MARK = re.compile(SIGNS.encode())
_NO_GRAPH = (
    "There is no graph: the flight recorder has no times of compute. 'interlace calibrate' fits "
    "costs to its launches."
)


def looks_like(content: bytes) -> bool:
    """Tell whether a file's first bytes are those of a dump."""
    head = beginning(content)
    return is_pickled(head) or (head.startswith(b"{") and bool(_MARK.search(head)))


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the dumps of several ranks, and judge who comes late.

    A collective is the same on ranks whose process groups have the same ranks, by its sequence
    number; a transfer by its place among those of its two ranks, which needs buffers that have all
    launches from the first on.

    Raises
    ------
    InvalidTrace
        When a file is broken, two are of one rank, or none has a launch that completed.

    Notes
    -----
    O(bytes).
    """
    places = places_of(files)
    dumps = read_dumps(list(zip(files, places, strict=True)))
    if not any(dump.entries for dump in dumps):
        detail = "No launch completed: the dump has nothing whose times are known."
        raise InvalidTrace([Fault("", FaultCode.NO_COLLECTIVE, detail)])
    ranks = [dump.rank for dump in dumps if dump.rank is not None]
    notes = []
    if len(ranks) < len(dumps):
        ranks = list(range(len(dumps)))
        notes.append("Ranks are numbered as the files were given, from 0.")
    is_whole = all(dump.is_whole for dump in dumps)
    if not is_whole and any(one.pair for dump in dumps for one in dump.entries):
        notes.append(
            "Transfers between two ranks are left out: buffers have lost their first launches, so "
            "which belong together is not known."
        )
    of_ranks = [list(_launches(dump, is_whole=is_whole)) for dump in dumps]
    steps, is_found = steps_of([[launch for launch, _ in own] for own in of_ranks])
    if not is_found:
        notes.append("No pattern of launches comes again: each launch of a group counts as a step.")
    arrivals = list(_arrivals(ranks, of_ranks, steps))
    report = arrival_report(arrivals, notes) if len(dumps) > 1 else None
    left = sum(dump.left_out for dump in dumps)
    warned = [] if report else ["Dumps of two ranks or more, of one run, tell who comes late."]
    kinds: dict[str, Total] = {}
    for one in dumps[0].entries:
        old = kinds.get(one.kind, Total(0, 0))
        kinds[one.kind] = Total(old.count + 1, old.bytes + (one.bytes or 0))
    trace = Trace(
        None,
        report_of(
            FORMAT,
            None,
            steps=report.steps if report else 1,
            collectives=kinds,
            dropped=[f"{counted(left, 'launch', 'launches')} without begin or end."]
            if left
            else [],
            repaired=[
                dump.cut if len(dumps) == 1 else f"File {i}: {dump.cut}"
                for i, dump in enumerate(dumps, 1)
                if dump.cut
            ],
            warnings=[
                _NO_GRAPH,
                *warned,
                *dict.fromkeys(said for dump in dumps for said in dump.larger),
            ],
            arrivals=report,
        ),
    )
    return checked(trace)


def _launches(dump: FlightDump, *, is_whole: bool) -> Iterator[tuple[SeriesLaunch, FlightEntry]]:
    """Yield what can be found again on other ranks, as launches of a series."""
    title = titles(list({one.group.name: one.group for one in dump.entries}.values()))
    sent: Counter[str] = Counter()
    for one in dump.entries:
        series = title[one.group.name]
        if one.pair is not None:
            series = f"{series} {one.kind}"
            if is_whole:
                yield SeriesLaunch(series, sent[series], (one.kind, one.bytes)), one
            sent[series] += 1
        elif one.number is not None:
            yield SeriesLaunch(series, one.number, (one.kind, one.bytes)), one


def _arrivals(
    ranks: Sequence[int],
    of_ranks: Sequence[Sequence[tuple[SeriesLaunch, FlightEntry]]],
    steps: Sequence[Sequence[tuple[int, int]]],
) -> Iterator[Arrival]:
    for rank, own, places in zip(ranks, of_ranks, steps, strict=True):
        together: Counter[str] = Counter()
        for (launch, one), (step, place) in zip(own, places, strict=True):
            series = launch.series
            members, group, number = one.group.ranks, series, launch.number
            if one.pair is not None:
                group = f"{series.rpartition(' ')[0]} {one.pair[0]}->{one.pair[1]}"
                number = together[group]
                together[group] += 1
            elif not one.group.is_default:
                group = f"{series} {list(members) or one.group.name}"
            yield Arrival(
                rank,
                step,
                f"{series} {one.kind} {place + 1}" if one.pair is None else f"{series} {place + 1}",
                series,
                group,
                number,
                one.kind,
                one.bytes,
                one.start,
                one.end,
            )
