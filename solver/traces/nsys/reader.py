"""From exports to the traces that PyTorch's profiler would have written of the same run."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces import kineto
from solver.traces.files import places_of
from solver.traces.kineto.sized_collectives import RECORDING
from solver.traces.nsys.database import MAGIC, opened
from solver.traces.nsys.ranks import ExportRows, RankRows, communicates
from solver.traces.nsys.tables import KERNELS, TABLES
from solver.traces.trace import Trace, TraceOptions

FORMAT = "nsys"

_ADVICE = (
    "Record with nsys profile --trace=cuda,nvtx (NCCL 2.20 or newer says there what its calls "
    "carry), and export with nsys export --type sqlite"
)
_NO_STEP = (
    "No ProfilerStep: the whole file was read as one step. Call the profiler's step() after each "
    "iteration."
)
_NO_RANGE = (
    "No range of NVTX's is a step: the whole file was read as one. Put a range named step 1, "
    "step 2 and so on around each iteration."
)
#: What the reader of PyTorch's traces says, and what it means here.
_SAID = (
    (f"{RECORDING}, with PyTorch 2.2 or newer", _ADVICE),
    (RECORDING, _ADVICE),
    (_NO_STEP, _NO_RANGE),
    ("ProfilerStep#", "Step "),
)


def looks_like(content: bytes) -> bool:
    """Tell whether a file is a database with tables of kernels or of NVTX's ranges."""
    return content.startswith(MAGIC) and (KERNELS.encode() in content or b"NVTX_EVENTS" in content)


class _ExportedRank(NamedTuple):
    """Of which file what ran on a GPU for a process is, and the name of its steps."""

    place: str
    steps: str


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read one export, or several of the same run, as PyTorch's traces of its ranks.

    A rank is a GPU of a process that launched kernels of NCCL on it, or any kernel where none did.
    Steps are ranges of NVTX's named ``step 3``, ``iteration 3`` or the like. Kernels are launched
    by the calls with their correlation id; what they carry NCCL's ranges tell.

    Raises
    ------
    InvalidTrace
        When a file is no database, is broken or has no kernels, and as for PyTorch's traces.

    Notes
    -----
    O(rows log rows).
    """
    rows = [
        one
        for file, place in zip(files, places_of(files), strict=True)
        for one in _ranks(file, place)
    ]
    if all(one.job.rank is not None for one in rows):
        rows.sort(key=lambda one: one.job.rank or 0)
    ranks = [_ExportedRank(one.place, one.named) for one in rows]
    places = [f"/files/{i}" if len(ranks) > 1 else "" for i in range(len(ranks))]
    parsed = (rows.pop(0).file(f"{place}/traceEvents") for place in places)
    try:
        trace = kineto.read_parsed(parsed, places, options)
    except InvalidTrace as error:
        raise InvalidTrace([_here(fault, ranks) for fault in error.faults]) from None
    report = trace.report
    said = (
        [f"The ranges of NVTX's named {ranks[0].steps!r} are the steps."] if ranks[0].steps else []
    )
    return replace(
        trace,
        report=replace(
            report,
            format=FORMAT,
            assumed=(*map(_said, report.assumed), *said),
            warnings=tuple(map(_said, report.warnings)),
        ),
    )


def _said(sentence: str) -> str:
    for theirs, ours in _SAID:
        sentence = sentence.replace(theirs, ours)
    return sentence


def _here(fault: Fault, ranks: Sequence[_ExportedRank]) -> Fault:
    """Say of a file what was said of a trace that was made of it."""
    numbered = re.match(r"/files/(\d+)", fault.pointer)
    rank = ranks[int(numbered[1]) if numbered else 0]
    is_of_one = numbered or len(ranks) == 1
    return Fault(rank.place if is_of_one else "", fault.code, _said(fault.detail))


def _ranks(content: bytes, place: str) -> list[RankRows]:
    """Return the ranks of an export."""
    with opened(content, place, TABLES) as database:
        found = ExportRows(database)
    by_rank = found.ranks()
    if not by_rank:
        detail = f"The export has no kernels. {_ADVICE}."
        raise InvalidTrace([Fault(place, FaultCode.NO_COLLECTIVE, detail)])
    able = {where for where, some in by_rank.items() if any(map(communicates, some))} or by_rank
    return [RankRows(found, *where, by_rank[where], place) for where in sorted(able)]
