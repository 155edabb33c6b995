"""Graphs from files of other tools, and from files written for Interlace."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from app.errors import InvalidRequest, Refusal, within
from app.limits import (
    MAX_COLLECTIVES,
    MAX_DLC_LINES,
    MAX_MISFIT_VALUES,
    MAX_NAME_CHARACTERS,
    MAX_OPS,
    MAX_SIMULATED_COLLECTIVES,
    MAX_TRACE_LINES,
    MAX_UNPACKED_BYTES,
)
from app.reading.compiled_graphs import compiled_request, is_compiled
from app.reading.graph_faults import check_limits
from app.reading.misplaced import refuse_cost_model_in
from app.reading.parsing import read_json
from app.reading.requests import checked_plain
from app.reading.unpacking import UnpackedFiles, unpacked_files
from app.schemas.base import PLAIN, Name, RequestModel
from app.schemas.building import when_built
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import GraphBody
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError, InvalidTrace
from solver.graph import Graph, build
from solver.limits import MAX_BYTES
from solver.traces.collecting import uncollected
from solver.traces.formats import Counted, TraceFormat
from solver.traces.report import Report, totals
from solver.traces.trace import Trace, TraceOptions, without_graph
from solver.wording import shown

FORMAT = "interlace"
#: The format of programs that were not recorded.
_OF_DEVICES = "hlo"


class _TraceFile(RequestModel):
    graph: GraphBody


class _OnCluster(RequestModel):
    cluster: ClusterBody


def read_own(content: bytes, options: TraceOptions) -> Trace | None:
    """Read such a file; None when it is something else.

    Raises
    ------
    InvalidRequest
        With all faults of the graph.
    """
    raw = _object(content)
    if is_compiled(raw):
        raw = compiled_request(raw)
    if "ops" in raw:
        raw = {"graph": raw}
    if not isinstance(raw.get("graph"), dict) or "ops" not in raw["graph"]:
        return None
    body = checked_plain({"graph": raw["graph"]}, _TraceFile).graph
    try:
        graph = build(
            options.name or body.name,
            body.ops_of(),
            body.buffers_of(),
            body.free(),
            body.recorded_of(),
        )
    except InterlaceError as error:
        raise InvalidRequest(within("graph", error.faults)) from error
    report = Report(
        format=FORMAT, steps=1, step=0, ops=len(graph.ops), collectives=totals(graph.ops)
    )
    return Trace(graph, report)


def own_cluster(file: bytes) -> dict[str, Any] | None:
    """Return the cluster that such a file has beside its graph, as it is there; None without one.

    Raises
    ------
    InvalidRequest
        With all faults of the cluster.
    """
    raw = _object(recordings(unpacked_files([file], MAX_UNPACKED_BYTES)).contents[0])
    if is_compiled(raw):
        raw = compiled_request(raw)
    cluster: dict[str, Any] | None = raw.get("cluster") if "graph" in raw else None
    if cluster is not None:
        checked_plain({"cluster": cluster}, _OnCluster)
    return cluster


def _object(content: bytes) -> dict[str, Any]:
    """Return a JSON object; an empty one for whatever else."""
    if not _may_be_own(content):
        return {}
    try:
        found = read_json(content)
    except Refusal:
        return {}
    return found if isinstance(found, dict) else {}


def _may_be_own(content: bytes) -> bool:
    """Tell whether a file may be one written for Interlace, without reading it."""
    return content.lstrip().startswith(b"{") and b'"ops"' in content


#: The most of what the work of a reader grows with, and what to count for it.
_MOST: dict[Counted, tuple[int, tuple[bytes, ...]]] = {
    "values": (MAX_MISFIT_VALUES, (b",", b"[", b"{")),
    "lines": (MAX_TRACE_LINES, (b"\n",)),
    "rows": (MAX_DLC_LINES, (b"\n",)),
}
#: Each is an op of either pass.
_MOST_LAYERS = MAX_OPS // 2


_PARAMETERS: TypeAdapter[list[tuple[str, int]]] = TypeAdapter(
    Annotated[
        list[tuple[Name, Annotated[int, Field(ge=1, le=MAX_BYTES)]]],
        Field(max_length=100 * MAX_COLLECTIVES),
    ],
    config=when_built(),
)


def read_files(files: Sequence[bytes], form: str | None, options: TraceOptions) -> Trace:
    """Unpack files and read them in a format of :data:`solver.traces.READERS`, or as they are.

    Parameters
    ----------
    files
        As they arrived: plain, gzipped or in archives.
    form
        The format; None looks at the files.
    options
        What to read of them.

    Raises
    ------
    InvalidTrace, InvalidRequest
        When a file cannot be unpacked or read, or the graph is over the limits; of DLC traces the
        report is left then.
    """
    return read_unpacked(unpacked_files(files, MAX_UNPACKED_BYTES), form, options)


def read_unpacked(files: UnpackedFiles, form: str | None, options: TraceOptions) -> Trace:
    """Read files that were unpacked, as :func:`read_files` does.

    Raises
    ------
    InvalidTrace, InvalidRequest
        As there.
    """
    files = recordings(files)
    names = dict(zip(files.contents, files.names, strict=True))
    plain = list(names)  # a file given twice is one
    own = read_own(plain[0], options) if form is None and len(plain) == 1 else None
    if own is not None:
        refuse_cut(files)
        if options.device is not None:
            raise InvalidRequest([_no_device_of(FORMAT)])
        return replace(own, report=_with_files_said(own.report, files, len(plain)))
    for content in plain if form is None else ():
        refuse_cost_model_in(content)
    from solver.traces import FORMATS, detect  # noqa: PLC0415 - takes time

    name = detect(plain, list(names.values())) if form is None else form
    chosen = next(each for each in FORMATS if each.name == name)
    if options.device is not None and name != _OF_DEVICES:
        raise InvalidRequest([_no_device_of(name)])
    if faults := list(_content_faults(plain, chosen)):
        raise InvalidTrace(faults)
    if chosen.is_graph:
        refuse_cut(files)
    with uncollected():
        trace = chosen.read(plain, options)
    if trace.graph is not None and (broken := list(_graph_faults(trace.graph))):
        if trace.report.dlc is None:
            raise InvalidRequest(within("graph", broken))
        trace = without_graph(trace, broken)
    return replace(trace, report=_with_files_said(trace.report, files, len(plain)))


def _no_device_of(form: str) -> Fault:
    detail = f"Device: it is said of HLO text alone; the files are of {form}."
    return Fault("/query/device", FaultCode.EXTRA_FIELD, detail)


def recordings(files: UnpackedFiles) -> UnpackedFiles:
    """Leave out what an archive has beside recordings or a graph, as a README, and say so."""
    if len(files.contents) == 1 or not any(files.names):
        return files
    from solver.traces.readers import formats_of, is_aside  # noqa: PLC0415 - takes time

    told = [
        form is not None or _may_be_own(content)
        for content, form in zip(files.contents, formats_of(files.contents), strict=True)
    ]
    is_kept = [
        is_told or name is None or not is_aside(content)
        for content, name, is_told in zip(files.contents, files.names, told, strict=True)
    ]
    if not any(told) or all(is_kept):
        return files
    left = [name for name, keep in zip(files.names, is_kept, strict=True) if not keep]
    said = (f"File {shown(name)} of the archive is no recording: not read." for name in left)
    return UnpackedFiles(
        list(compress(files.contents, is_kept)),
        list(compress(files.names, is_kept)),
        (*files.dropped, *said),
        files.cut,
    )


def refuse_cut(files: UnpackedFiles) -> None:
    """Refuse files that end in the middle, of what is nothing without its end.

    Raises
    ------
    InvalidTrace
        When one does.
    """
    if files.cut:
        detail = files.cut[0].partition(":")[0]
        raise InvalidTrace([Fault("", FaultCode.TRUNCATED, f"{detail}.")])


def _with_files_said(report: Report, files: UnpackedFiles, different: int) -> Report:
    """Add to a report what was done with the files before they were read."""
    said = []
    if twice := len(files.contents) - different:
        what = "A file was" if twice == 1 else f"{twice} files were"
        said.append(f"{what} given twice, and counts once.")
    return replace(
        report,
        dropped=(*files.dropped, *report.dropped),
        repaired=(*report.repaired, *said),
        warnings=(*files.cut, *report.warnings),
    )


def _content_faults(files: Sequence[bytes], form: TraceFormat) -> Iterator[Fault]:
    """Bound the work and the memory of a reader by what is plain to see."""
    counted = "lines" if form.counted == "rows" else form.counted
    bounds = [(counted, *_MOST[form.counted])] if form.counted in _MOST else []
    layers = [("layers", _MOST_LAYERS, (form.layer_mark,))] if form.layer_mark else []
    for content in files:
        for what, most, marks in (*bounds, *layers):
            if sum(map(content.count, marks)) > most:
                yield Fault("", FaultCode.TOO_LARGE, f"The file has more than {most:,} {what}.")


def _graph_faults(graph: Graph) -> Iterator[Fault]:
    """List what no request could name, and the limits that are broken."""
    yield from check_limits(list(graph.ops), MAX_SIMULATED_COLLECTIVES)
    shared = {graph.name, *(n or "" for op in graph.ops for n in (op.channel, op.stream))}
    shared.update(op.fuse_key or "" for op in graph.ops)
    is_plain = re.compile(PLAIN).fullmatch
    ids = (op.id for op in graph.ops)
    wrong = (n for n in chain(shared, ids) if len(n) > MAX_NAME_CHARACTERS or not is_plain(n))
    if name := min(wrong, default=""):
        rule = f"a name has at most {MAX_NAME_CHARACTERS} characters, no control ones"
        yield Fault("/ops", FaultCode.OUT_OF_RANGE, f"{shown(name)}: {rule}.")


def recognised(content: bytes) -> str | None:
    """Return the format of an unpacked file; None when it is none of another tool."""
    from solver.traces import detect  # noqa: PLC0415 - takes time

    try:
        return detect([content])
    except InvalidTrace:
        return None


def report_of(value: Any) -> Report:
    """Read a report that was written with a graph.

    Raises
    ------
    InvalidRequest
        When it is none.
    """
    try:
        return TypeAdapter(Report).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"/{step}" for step in ("report", *first["loc"]))
        detail = f"No report of an import: {first['msg']}, got {shown(first['input'])}."
        raise InvalidRequest([Fault(place, FaultCode.WRONG_TYPE, detail)]) from None


def parameters_of(text: str | None) -> tuple[tuple[str, int], ...] | None:
    """Read a JSON list of pairs, or an object, of names and bytes, the last to be ready first.

    Raises
    ------
    InvalidRequest
        When it is neither, or a size is none.
    """
    if text is None:
        return None
    try:
        found: Any = read_json(text.encode())
    except Refusal as error:
        raise _wrong(str(error)) from None
    pairs = list(found.items()) if isinstance(found, dict) else found
    try:
        return tuple(_PARAMETERS.validate_python(pairs))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"/{step}" for step in first["loc"])
        raise _wrong(f"at {place or '/'}: {first['msg']}, got {shown(first['input'])}.") from None


def _wrong(why: str) -> InvalidRequest:
    detail = f"Parameters: a JSON list of [name, bytes], the last to be ready first; {why}"
    return InvalidRequest([Fault("/query/parameters", FaultCode.WRONG_TYPE, detail)])
