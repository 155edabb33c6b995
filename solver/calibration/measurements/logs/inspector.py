"""NCCL Inspector: JSON of the profiler plugin that comes with NCCL 2.28 and newer.

A record for each collective of each rank: ``header`` (communicator, rank, n_ranks), ``metadata``
and ``coll_perf``. From v4.3 on a ``dump_stats`` record has header and metadata of those that
follow it. ``coll_exec_time_us`` is the time of the kernel; a collective takes what its slowest rank
says. The bytes of a reduce-scatter and an all-gather are those of one rank's share.

References
----------
.. [1] NCCL 2.28, ext-profiler/inspector: README.md, and inspectorComputeOpBw of inspector.cc.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from solver.calibration.measurements.lines import Figure
from solver.calibration.measurements.logs.json_records import (
    JsonRecord,
    number,
    records_of,
    whole_number,
)
from solver.calibration.measurements.readings import Measurements, Reading, samples_of
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE_SCATTER
from solver.limits import MAX_BYTES, MAX_WORKERS

FORMAT = "nccl_inspector"


MARK = re.compile(r'"coll_perf"\s*:|"dump_stats"\s*:')


#: Collectives by the name that NCCL gives them; the bytes of :data:`_SHARES` are one rank's share.
_KINDS = {
    "AllReduce": ALL_REDUCE,
    "AllGather": ALL_GATHER,
    "ReduceScatter": REDUCE_SCATTER,
    "Broadcast": BROADCAST,
}


_SHARES = (ALL_GATHER, REDUCE_SCATTER)


#: What times the call on the host, and not the kernel.
_HOST = "collective_cpu"


class _Launch(NamedTuple):
    """A collective of a communicator, by its number there; how often one rank gave that number."""

    communicator: str
    kind: str
    workers: int
    number: int | None
    size: int
    repeated: int


class _Slowest(NamedTuple):
    """The longest time of a launch [us], where it stands, and how many ranks gave one."""

    line: int
    time: float
    ranks: int


class _InspectorRecord(NamedTuple):
    """What is read of a record; a launch without its repetition."""

    launch: _Launch
    rank: int
    time: float


def read(text: str) -> tuple[Measurements, ...]:
    """Read the collectives of each kind and each number of ranks as a run; the slowest rank counts.

    Left out and noted: sends and receives, other collectives, times of the host alone
    (``collective_cpu``), times of 0 us, a last record that is cut, and records that the plugin
    dropped.

    Raises
    ------
    InvalidMeasurements
        When no collective is there, and with every record that is broken.

    Notes
    -----
    O(characters).
    """
    log = _InspectorLog()
    for record in records_of(text):
        log.take(record)
    return log.runs()


class _InspectorLog:
    """What has been read so far: the launches, and what was left out."""

    def __init__(self) -> None:
        self.launches: dict[_Launch, _Slowest] = {}
        self.broken: list[Reading | Fault] = []
        self.left_out: dict[str, int] = {}
        self.dropped: dict[str, int] = {}
        self.hosts: dict[str, None] = {}
        self.context: Mapping[str, Any] = {}
        self.counts: dict[tuple[_Launch, int], int] = {}

    def take(self, record: JsonRecord | Fault | None) -> None:
        """Take the next record; None is one that is cut."""
        if isinstance(record, Fault):
            self.broken.append(record)
            return
        if record is None:
            self._leave("the last record, which is cut off")
            return
        value = record.value
        if isinstance(value.get("header"), dict):
            self.context = value
        header = _of(self.context, "header") if "header" in self.context else value
        host = _of(self.context, "metadata").get("hostname", value.get("hostname"))
        if isinstance(host, str):
            self.hosts[host[:100]] = None
        if isinstance(stats := value.get("dump_stats"), dict):
            total = whole_number(stats.get("coll_dropped_total"), MAX_BYTES) or 0
            key = f"{header.get('id')} {header.get('rank')}"
            self.dropped[key] = max(total, self.dropped.get(key, 0))
        elif isinstance(performance := value.get("coll_perf"), dict):
            self._collective(record.line, header, performance)
        elif "p2p_perf" in value:
            self._leave("sends and receives")

    def _collective(
        self, line: int, header: Mapping[str, Any], performance: Mapping[str, Any]
    ) -> None:
        name = performance.get("coll")
        if isinstance(name, str) and name not in _KINDS:
            self._leave(f"{name[:40]}, no collective of graphs")
            return
        if performance.get("coll_timing_source") == _HOST:
            self._leave(f"times of the host alone ({_HOST})")
            return
        collective = _record(header, performance)
        if collective is None:
            detail = (
                f"Line {line}: coll_perf must have coll, coll_msg_size_bytes and "
                "coll_exec_time_us, and its header n_ranks."
            )
            self.broken.append(Fault(f"/{line}", FaultCode.MISSING_FIELD, detail))
        elif collective.time == 0:
            self._leave("times of 0 us")
        else:
            again = self.counts.get((collective.launch, collective.rank), 0)
            self.counts[collective.launch, collective.rank] = again + 1
            launch = collective.launch._replace(repeated=again)
            old = self.launches.get(launch, _Slowest(line, 0.0, 0))
            slowest = max(old.time, collective.time)
            self.launches[launch] = _Slowest(old.line, slowest, old.ranks + 1)

    def _leave(self, what: str) -> None:
        self.left_out[what] = self.left_out.get(what, 0) + 1

    def runs(self) -> tuple[Measurements, ...]:
        """Return a run for each kind and number of ranks.

        Raises
        ------
        InvalidMeasurements
            When none is left, or a record is broken.
        """
        readings: dict[tuple[str, int], list[Reading]] = {}
        for launch, (line, time, _) in self.launches.items():
            reading = Reading(line, launch.size, Figure(time, 0.5))
            readings.setdefault((launch.kind, launch.workers), []).append(reading)
        if self.broken or not readings:
            samples_of(self.broken)
        notes = self._notes()
        measured = []
        for (kind, workers), rows in readings.items():
            selection = samples_of(rows)
            measured.append(
                Measurements(
                    format=FORMAT,
                    samples=selection.samples,
                    workers=workers,
                    kind=kind,
                    notes=(*selection.notes, *notes),
                    hosts=tuple(sorted(self.hosts)),
                )
            )
        return tuple(measured)

    def _notes(self) -> list[str]:
        notes = [f"{many:,} left out: {what}." for what, many in self.left_out.items()]
        if dropped := sum(self.dropped.values()):
            notes.append(f"The plugin dropped {dropped:,} records before it wrote them.")
        few = sum(slowest.ranks < launch.workers for launch, slowest in self.launches.items())
        if few:
            notes.append(
                f"{few:,} of {len(self.launches):,} launches have no record of some ranks: the "
                "slowest of those that are there counts."
            )
        return notes


def _of(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an object of an object; an empty one where there is none."""
    section = value.get(key)
    return section if isinstance(section, dict) else {}


def _record(header: Mapping[str, Any], performance: Mapping[str, Any]) -> _InspectorRecord | None:
    """Read a record; None where something that is needed is not there."""
    kind = _KINDS.get(str(performance.get("coll")))
    workers = whole_number(header.get("n_ranks"), MAX_WORKERS)
    size = whole_number(performance.get("coll_msg_size_bytes"), MAX_BYTES)
    time = number(performance.get("coll_exec_time_us"))
    if kind is None or not workers or size is None or time is None:
        return None
    size *= workers if kind in _SHARES else 1
    launch = _Launch(
        str(header.get("id")),
        kind,
        workers,
        whole_number(performance.get("coll_sn"), MAX_BYTES),
        size,
        0,
    )
    return _InspectorRecord(launch, whole_number(header.get("rank"), MAX_WORKERS) or 0, time)
