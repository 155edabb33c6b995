"""PyTorch execution traces: what each op was called with, and no times; with Kineto's, a graph."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import Op
from solver.traces import kineto
from solver.traces.cut_files import CutFile
from solver.traces.exit_check import checked
from solver.traces.files import beginning, single_file
from solver.traces.pytorch_et.calls import CallsFile, CommunicationCall, calls_of
from solver.traces.pytorch_et.payload_sizes import add_sizes
from solver.traces.report import Total, report_of, totals
from solver.traces.steps import choose_step
from solver.traces.trace import Trace, TraceOptions

FORMAT = "pytorch_et"


_NO_TIMES = (
    "An execution trace has no durations, so there is nothing to plan with: give the profiler's "
    "trace (Kineto, recorded by torch.profiler in the same run) together with it."
)


_SIZED = "The profiler's trace lacks sizes: those of the execution trace are put in, call by call."


#: Without any of these a profiler's trace has no sizes.
_SIGNS = (b"In msg nelems", b"Input Dims")


_DIFFERENT = (
    "No step of the execution trace carries the bytes of the profiler's step, which is read: not "
    "of the same run?"
)


def looks_like(content: bytes) -> bool:
    """Tell whether a file may be an execution trace: an object of a schema and nodes."""
    head = beginning(content)
    return head[:1] == b"{" and b'"schema"' in head and b'"nodes"' in head


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read an execution trace: alone a report and no graph, with profiler's traces the graph.

    The profiler's traces give times, order and the step; the execution trace gives sizes where
    they have none, and is compared with them where they have.

    Raises
    ------
    InvalidTrace
        Not such files, no such step, no collective, no sizes, not of the same run.
    """
    others = [file for file in files if kineto.looks_like(file)]
    file = calls_of(single_file([file for file in files if not kineto.looks_like(file)]))
    if others:
        return _join(others, options, file)
    steps, calls, cut = file
    step = choose_step(options.step, [0.0 for _ in steps])
    inside = _within(calls, steps[step])
    if fault := _nothing_sent(inside):
        raise InvalidTrace([fault])
    report = report_of(
        FORMAT,
        None,
        steps=len(steps),
        step=step,
        collectives=_totals(inside),
        dropped=_losses(inside),
        warnings=(*([cut.said] if cut else []), _NO_TIMES),
    )
    return checked(Trace(None, report))


def _join(others: Sequence[bytes], options: TraceOptions, file: CallsFile) -> Trace:
    """Read the profiler's traces, with sizes of the execution trace where they have none."""
    steps, calls, cut = file
    trace, said, each = _sized(others, options, calls)
    cuts = [cut for cut in (cut, *each) if cut is not None]
    inside = [_totals(_within(calls, step)) for step in steps]
    differs = _bytes(trace.report.collectives) not in map(_bytes, inside)
    report = replace(
        trace.report,
        format=FORMAT,
        assumed=trace.report.assumed + said,
        warnings=(
            *(cut.said for cut in cuts),
            *trace.report.warnings,
            *((_DIFFERENT,) if differs else ()),
        ),
    )
    return replace(trace, report=report)


def _sized(
    others: Sequence[bytes], options: TraceOptions, calls: Sequence[CommunicationCall]
) -> tuple[Trace, tuple[str, ...], Sequence[CutFile | None]]:
    """Read the profiler's traces, with sizes of the execution trace where they lack some.

    Returns
    -------
    tuple
        The trace, what is said of sizes that were put in, and how the files were cut off that
        they were put into.
    """
    found: Trace | None = None
    if not any(sign in file for file in others for sign in _SIGNS):
        with suppress(InvalidTrace):
            return _filled(others, options, calls)
    try:
        found = kineto.read(others, options)
        if not found.report.unsized:
            return found, (), ()
    except InvalidTrace as error:
        if all(fault.code != FaultCode.NO_SIZES for fault in error.faults):
            raise
    try:
        return _filled(others, options, calls)
    except InvalidTrace:
        if found is None:
            raise
        return found, (), ()


def _filled(
    others: Sequence[bytes], options: TraceOptions, calls: Sequence[CommunicationCall]
) -> tuple[Trace, tuple[str, ...], Sequence[CutFile | None]]:
    """Read the profiler's traces with the sizes put in; returns as :func:`_sized` does."""
    filled, cuts = zip(*(add_sizes(file, calls) for file in others), strict=True)
    return kineto.read(filled, options), (_SIZED,), cuts


def _within(calls: Sequence[CommunicationCall], step: range) -> Sequence[CommunicationCall]:
    """Return the calls of a step: they are by id, as the nodes were."""
    begin = bisect_left(calls, step.start, key=_id)
    return calls[begin : bisect_left(calls, step.stop, begin, key=_id)]


def _id(call: CommunicationCall) -> int:
    return call.id


def _totals(calls: Iterable[CommunicationCall]) -> dict[str, Total]:
    return totals(Op(str(c.id), c.kind, None, c.bytes) for c in calls if c.kind and c.bytes)


def _bytes(by_kind: dict[str, Total]) -> dict[str, int]:
    """Return the bytes of each kind: of buckets split in tensors the same."""
    return {kind: total.bytes for kind, total in by_kind.items()}


def _nothing_sent(calls: Iterable[CommunicationCall]) -> Fault | None:
    known = [call for call in calls if call.kind]
    if not known:
        return Fault("", FaultCode.NO_COLLECTIVE, "The step has no collective.")
    if not any(call.bytes for call in known):
        detail = f"None of the {len(known)} collectives of the step has a size."
        return Fault("", FaultCode.NO_SIZES, detail)
    return None


def _losses(calls: Sequence[CommunicationCall]) -> Iterator[str]:
    """Say what of the step's communication is no collective, or has no size."""
    for name, count in Counter(call.name or "unnamed" for call in calls if not call.kind).items():
        yield f"{count} {name}"
    for name, count in Counter(c.name for c in calls if c.kind and not c.bytes).items():
        yield f"{count} {name} without a size"
