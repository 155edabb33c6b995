"""PyTorch's flight recorder: the last collectives of one rank, as JSON or as a pickle.

Written with ``TORCH_NCCL_TRACE_BUFFER_SIZE`` (``TORCH_FR_BUFFER_SIZE``) above 0, versions 2.0 to
2.10. ``duration_ms`` is the time between the CUDA events around a launch, which holds its wait for
late ranks: of the dumps of several ranks the least counts. It is there only with
``TORCH_NCCL_ENABLE_TIMING=1``. The bytes are those of the inputs or of the outputs, whichever are
more: the whole tensor, of an all-gather as of a reduce-scatter. The ranks are those of the process
group.

References
----------
.. [1] PyTorch, torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from solver.calibration.measurements.lines import Figure, is_count
from solver.calibration.measurements.logs.cut_dumps import cut_dump
from solver.calibration.measurements.logs.json_records import number
from solver.calibration.measurements.logs.shared_launches import (
    RankLaunch,
    dump_ranks,
    launch_key,
    shared,
)
from solver.calibration.measurements.readings import Measurements, Reading, samples_of
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError, InvalidMeasurements
from solver.flight_recorder.dump import SIGNS, Dump, DumpEntry, dump_in, word
from solver.flight_recorder.pickled import BEGINS, unpickled
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.limits import MAX_WORKERS
from solver.wording import larger_than_the_job

FORMAT = "flight_recorder"


MARK = re.compile(rf"{SIGNS}|^data:application/octet-stream;")


#: How a pickle stands in a text: a data URL (RFC 2397).
PACKED = "data:application/octet-stream;base64,"


#: Collectives by name, without the library before the colon.
_KINDS = {
    "all_reduce": ALL_REDUCE,
    "all_reduce_coalesced": ALL_REDUCE,
    "allreduce_coalesced": ALL_REDUCE,
    "all_gather": ALL_GATHER,
    "_all_gather_base": ALL_GATHER,
    "all_gather_single": ALL_GATHER,
    "ALLGATHER_coalesced": ALL_GATHER,
    "all_gather_into_tensor_coalesced": ALL_GATHER,
    "reduce_scatter": REDUCE_SCATTER,
    "_reduce_scatter_base": REDUCE_SCATTER,
    "reduce_scatter_single": REDUCE_SCATTER,
    "REDUCE_SCATTER_coalesced": REDUCE_SCATTER,
    "reduce_scatter_tensor_coalesced": REDUCE_SCATTER,
    "all_to_all": ALL_TO_ALL,
    "all_to_all_single": ALL_TO_ALL,
    "broadcast": BROADCAST,
    "_broadcast_oop": BROADCAST,
}


#: What may stand between dumps.
_BETWEEN = " \t\r\n\ufeff"


_DECODER = json.JSONDecoder()


_UNTIMED = "no duration_ms: record with TORCH_NCCL_ENABLE_TIMING=1"


def as_text(content: bytes) -> str | None:
    """Return a pickle as the text that :func:`read` takes; None for what is no pickle."""
    return PACKED + b64encode(content).decode() if content.startswith(BEGINS) else None


def read(text: str) -> tuple[Measurements, ...]:
    """Read the completed collectives of each kind and size of group as a run.

    A launch that the dumps of several ranks have counts once, with the least of its times.

    Left out and noted: what did not complete, has no duration, no bytes, or is no collective of
    graphs, such as sends, barriers and groups of launches (``coalesced``), which have no sizes.

    Raises
    ------
    InvalidMeasurements
        When the text is no dump, and when no collective has a duration and bytes.

    Notes
    -----
    O(characters).
    """
    parts = list(_dumps(text))
    dumps = [dump for dump, _ in parts]
    launches: list[RankLaunch] = []
    left: list[Reading | Fault] = []
    for rank, dump in zip(dump_ranks(dumps), dumps, strict=True):
        for one in _launches(dump, rank):
            if isinstance(one, RankLaunch) and one.reading.left_out is None:
                launches.append(one)
            else:
                left.append(one.reading if isinstance(one, RankLaunch) else one)
    if not launches or any(isinstance(row, Fault) for row in left):
        samples_of(left, "Record")
    alike = shared(launches)
    notes = (
        *filter(None, (said for _, said in parts)),
        *_notes_of(left),
        *alike.notes,
        *dict.fromkeys(said for dump in dumps for said in _larger_said(dump)),
    )
    rows: dict[tuple[str | None, int | None], list[Reading]] = {}
    for one in alike.launches:
        rows.setdefault(one.run, []).append(one.reading)
    found = []
    for (kind, workers), readings in rows.items():
        selection = samples_of(readings, "Record")
        found.append(
            Measurements(FORMAT, selection.samples, workers, kind, (*selection.notes, *notes))
        )
    return tuple(found)


def _launches(dump: Dump, rank: int) -> Iterator[RankLaunch | Fault]:
    """Read the entries of one rank; a fault for each that is broken."""
    sizes = dict(_sizes(dump.groups))
    for place, value in enumerate(dump.entries):
        try:
            entry = msgspec.convert(value, DumpEntry)
        except msgspec.ValidationError:
            detail = f"Record {place}: an entry must be an object."
            yield Fault(f"/entries/{place}", FaultCode.WRONG_FORMAT, detail)
            continue
        kind = _KINDS.get(entry.called)
        workers = sizes.get(entry.group[0]) or (
            _ranks(dump.world_size) if len(sizes) <= 1 else None
        )
        yield RankLaunch((kind, workers), launch_key(entry), rank, _reading(place, entry, kind))


def _dumps(text: str) -> Iterator[tuple[Dump, str]]:
    """List the dumps of a text, one or one a rank.

    Beside each stands where it was cut off, a sentence; empty where it was not.

    Raises
    ------
    InvalidMeasurements
        When one is broken, or has no entries.
    """
    at = 0
    while at < len(text):
        if text[at] in _BETWEEN:
            at += 1
            continue
        said = ""
        try:
            if text.startswith(PACKED, at):
                end = text.find("\n", at) % (len(text) + 1)
                value = unpickled(b64decode(text[at + len(PACKED) : end].strip(), validate=True))
            else:
                value, end, said = _decoded(text, at)
            yield dump_in(value, Dump), said
        except (ValueError, RecursionError) as error:
            where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            detail = f"The flight recorder's dump is not whole JSON or a pickle{where}."
            raise InvalidMeasurements([Fault("", FaultCode.WRONG_FORMAT, detail)]) from None
        except InterlaceError as error:
            raise InvalidMeasurements(error.faults) from None
        at = end


def _decoded(text: str, at: int) -> tuple[Any, int, str]:
    """Return the JSON that begins there, its end, and where it was cut off.

    Raises
    ------
    ValueError, RecursionError
        When it is none.
    """
    try:
        return *_DECODER.raw_decode(text, at), ""
    except json.JSONDecodeError:
        following = (text.find(f"\n{begin}", at) for begin in ("{", PACKED))
        end = min((place for place in following if place >= 0), default=len(text))
        if (cut := cut_dump(text[at:end])) is None:
            raise
        return cut.value, end, cut.said


def _sizes(groups: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """List how many ranks each process group has; they are given as text, ``[0, 1]``."""
    for name, group in groups.items():
        ranks = group.get("ranks")
        listed = re.findall(r"\d+", ranks) if isinstance(ranks, str) else ranks
        if isinstance(listed, list) and 1 <= len(listed) <= MAX_WORKERS:
            yield word(name), len(listed)


def _larger_said(dump: Dump) -> Iterator[str]:
    """Say which process groups have more ranks than their job."""
    return larger_than_the_job(_sizes(dump.groups), _ranks(dump.world_size))


def _ranks(value: Any) -> int | None:
    """Return a number of ranks; None where it is none."""
    text = str(value) if isinstance(value, int) else word(value)
    ranks = int(text) if is_count(text) else 0
    return ranks if 1 <= ranks <= MAX_WORKERS else None


def _reading(place: int, entry: DumpEntry, kind: str | None) -> Reading:
    """Read an entry; it is left out where it is no launch whose bytes and time are known."""
    size = entry.bytes or 0
    duration = number(entry.duration_ms)
    why = None
    if kind is None:
        why = f"{(entry.called.split() or ['no name'])[0]}, no collective of graphs"
    elif entry.state != "completed":
        why = "not completed"
    elif duration is None:
        why = _UNTIMED
    elif not size:
        why = "its bytes are unknown"
    time = Figure(1e3 * duration, 0.0) if duration is not None else None
    return Reading(place, size, time, left_out=why)


def _notes_of(left: list[Reading | Fault]) -> tuple[str, ...]:
    """Say what was left out, and how often."""
    counts: dict[str, int] = {}
    for row in left:
        if isinstance(row, Reading) and row.left_out:
            counts[row.left_out] = counts.get(row.left_out, 0) + 1
    return tuple(f"{many:,} left out: {why}." for why, many in counts.items())
