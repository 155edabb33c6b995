"""What files hold: a graph, a request, or a recording of another tool."""

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from app.codes import ServiceFaultCode
from app.errors import InvalidRequest
from app.limits import MAX_NAME_CHARACTERS, MAX_UNPACKED_BYTES
from app.reading.compiled_graphs import compiled_request, is_compiled
from app.reading.parsing import read_json
from app.reading.traces import (
    parameters_of,
    read_unpacked,
    recognised,
    recordings,
    refuse_cut,
    report_of,
)
from app.reading.unpacking import unpacked_files
from app.schemas.problem import graph_json
from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import Graph
from solver.traces import Report, Trace, TraceOptions
from solver.wording import shown

Json = dict[str, Any]

#: How a file begins that is a graph or a request, and none of another tool; others are looked at
#: by all readers, which take time to import.
_OWN = re.compile(rb'\s*\{\s*"(graph|ops)"\s*:')

#: How much of the first line of an unknown file is shown.
_SHOWN = 40


class OpenedTrace(NamedTuple):
    """A trace, and what it was read with."""

    trace: Trace
    options: TraceOptions


def opened(
    contents: Sequence[bytes],
    name: str,
    step: int | None = None,
    parameters: str | None = None,
    rank: int | None = None,
    device: str | None = None,
) -> Any:
    """Read files: an :class:`OpenedTrace`, else JSON, unchecked.

    Parameters
    ----------
    contents
        JSON of a graph or of a request, else a trace of one file or several; gzipped, in archives,
        or neither.
    name
        What the first is called; a trace's graph is named after it.
    step, parameters, rank, device
        Of a trace, as :class:`solver.traces.TraceOptions` has them; ``parameters`` as JSON.

    Raises
    ------
    NotJson, DuplicateKey, InvalidRequest, InvalidTrace
        When they are neither.
    """
    files = recordings(unpacked_files(contents, MAX_UNPACKED_BYTES))
    content = files.contents[0].removeprefix(BOM_UTF8)
    is_own = _OWN.match(content) is not None
    if len(files.contents) > 1 or not (is_own or recognised(content) is None):
        options = TraceOptions(called(name), step, parameters_of(parameters), rank, device)
        return OpenedTrace(read_unpacked(files, None, options), options)
    refuse_cut(files)
    if not content.lstrip().startswith((b"{", b"[")) or (not is_own and _is_log(content)):
        raise _unknown(content)
    about = {"/step": step, "/parameters": parameters, "/rank": rank, "/device": device}
    faults = [
        Fault(flag, FaultCode.EXTRA_FIELD, "The file is no trace, of which alone this is said.")
        for flag, value in about.items()
        if value is not None
    ]
    if faults:
        raise InvalidRequest(faults)
    return read_json(content)


def told(found: Any) -> tuple[Any, Report | None]:
    """Return what files hold as a request that may lack options and a cluster; of a trace a report.

    Raises
    ------
    InvalidTrace
        When a trace has no iteration that could be planned.
    """
    if not isinstance(found, OpenedTrace):
        return of_json(found)
    graph, cluster, report = recorded(found)
    return {"graph": graph_json(graph), **({} if cluster is None else {"cluster": cluster})}, report


def of_json(raw: Any) -> tuple[Any, Report | None]:
    """Return parsed JSON as a request, unchecked, with the report that an import printed."""
    report = None
    if is_compiled(raw):
        return compiled_request(raw), None
    if isinstance(raw, dict) and {"graph", "report"} <= raw.keys():  # as import prints it
        report = report_of(raw["report"])
        raw = {name: raw[name] for name in ("graph", "cluster") if raw.get(name) is not None}
    if isinstance(raw, dict) and "ops" in raw and "graph" not in raw:
        raw = {"graph": raw}
    return raw, report


def recorded(opened: OpenedTrace) -> tuple[Graph, Json | None, Report]:
    """Return the iteration of a trace, the cluster that it tells, if it does, and its report."""
    from app.services.trace_clusters import with_cluster  # noqa: PLC0415 - takes time

    trace, about = with_cluster(opened.trace)
    if trace.graph is None:
        detail = " ".join(["No iteration can be planned.", *trace.report.warnings])
        raise InvalidTrace([Fault("", ServiceFaultCode.NOT_PLANNABLE, detail)])
    return trace.graph, about.cluster, trace.report


def called(name: str) -> str:
    """Name a graph after its file; a PipeDream ``graph.txt`` after its folder."""
    path = Path(name)
    stem = path.name.partition(".")[0] or path.name
    return path.parent.name if stem == "graph" else stem[:MAX_NAME_CHARACTERS]


def _is_log(content: bytes) -> bool:
    """Tell whether what begins as JSON is a log of launches; a launcher's tag is in brackets."""
    from solver.traces.foreign import is_log  # noqa: PLC0415 - takes time

    return is_log(content)


def _unknown(content: bytes) -> InvalidTrace:
    """Say what a file looks like, and what is read."""
    from solver.traces.foreign import description  # noqa: PLC0415 - takes time, as the next
    from solver.traces.readers import unknown  # noqa: PLC0415

    if what := description(content):
        return InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, f"The file is {what}.")])
    try:
        lines = map(str.strip, content.decode("utf-8").splitlines())
        line = next(filter(None, lines), "")
        looks = f"begins with {shown(line[:_SHOWN])}" if line else "is blank"
    except UnicodeDecodeError:
        looks = "is not text"
    detail = f"The file {looks}; it is no JSON, and {unknown(content)}."
    return InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])
