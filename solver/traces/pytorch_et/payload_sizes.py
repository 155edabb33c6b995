"""Sizes for a profiler's trace that has none, from the execution trace of the same run."""

from collections.abc import Sequence
from typing import Any

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import ALL_GATHER
from solver.traces.chrome import ChromeEvent, ChromeFile, decode
from solver.traces.cut_files import CutFile
from solver.traces.kineto.events import Args
from solver.traces.kineto.recording import RECORD
from solver.traces.pytorch_et.calls import LIBRARY, CommunicationCall


class _SizeArgs(Args, omit_defaults=True):
    function: Any = msgspec.field(default=None, name="Record function id")


class _SizeEvent(ChromeEvent, omit_defaults=True):
    args: _SizeArgs | None = None


class _SizesFile(ChromeFile[_SizeEvent], omit_defaults=True):
    distributed_info: Any = None


_DECODER = msgspec.json.Decoder(_SizesFile | list[_SizeEvent])


def add_sizes(content: bytes, calls: Sequence[CommunicationCall]) -> tuple[bytes, CutFile | None]:
    """Write the calls' names and sizes into a profiler's trace.

    How the trace was cut off, if it was, is beside it: what is written is whole.

    They go to the records of calls, or where there are none (gloo) to the library's own events.
    Calls are matched by their record function ids when each event has one that the execution trace
    knows, else one after the other; an execution trace of one step fits a trace of several.

    Raises
    ------
    InvalidTrace
        When it cannot be decoded, or the numbers of calls do not fit: not the same run.
    """
    found, cut = decode(content, "", _DECODER)
    file = found if isinstance(found, _SizesFile) else _SizesFile(found)
    records = [e for e in file.trace_events if e.ph == "X" and e.name == RECORD]
    calls = [call for call in calls if (call.is_record if records else call.kind)]
    records = records or [e for e in file.trace_events if e.ph == "X" and _is_library(e)]
    records.sort(key=lambda event: event.ts or 0.0)
    for event, call in zip(records, _match(records, calls), strict=True):
        event.args = event.args or _SizeArgs()
        event.args.collective = call.name
        if call.bytes:
            # the whole of an all-gather comes out, and a worker's share is not known
            event.args.elements_in = 0 if call.kind == ALL_GATHER else call.bytes
            event.args.elements_out = call.bytes
            event.args.dtype = "Byte"
    return msgspec.json.encode(file), cut


def _is_library(event: _SizeEvent) -> bool:
    """Tell whether an event is the library's, and not the GPU's copy of one."""
    return bool(LIBRARY.fullmatch(event.name or "")) and not (event.cat or "").startswith("gpu")


def _match(
    records: Sequence[_SizeEvent], calls: Sequence[CommunicationCall]
) -> Sequence[CommunicationCall]:
    by_id = {call.function: call for call in calls if call.function is not None}
    ids = [event.args.function if event.args else None for event in records]
    same = [by_id[number] for number in ids if isinstance(number, int) and number in by_id]
    if len(same) == len(records):
        return same
    if not calls or len(records) % len(calls):
        detail = (
            f"The profiler recorded {len(records)} calls of collectives, the execution trace has "
            f"{len(calls)}: not of the same run."
        )
        raise InvalidTrace([Fault("", FaultCode.TRACES_DIFFER, detail)])
    return list(calls) * (len(records) // len(calls))
