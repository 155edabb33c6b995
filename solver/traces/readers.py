"""The readers by format name, and which of them a file is for."""

from collections.abc import Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces import (
    astra_text,
    chakra,
    dlc,
    dnn_partitioning,
    flexflow,
    flight_recorder,
    foreign,
    hlo,
    horovod,
    kineto,
    nsys,
    pipedream,
    pytorch_et,
    schedule_simulator,
    tensorflow,
    xla,
)
from solver.traces.collecting import uncollected
from solver.traces.files import SEEN, places_of
from solver.traces.formats import TraceFormat
from solver.traces.nearest import nearest_said
from solver.traces.trace import Reader, Trace, TraceOptions
from solver.wording import must_be, one_of, shown

#: The formats that are read, in the order in which a file is looked at; add a format here.
FORMATS: tuple[TraceFormat, ...] = (
    pipedream.TRACE_FORMAT,
    dnn_partitioning.TRACE_FORMAT,
    schedule_simulator.TRACE_FORMAT,
    flexflow.TRACE_FORMAT,
    astra_text.TRACE_FORMAT,
    pytorch_et.TRACE_FORMAT,
    flight_recorder.TRACE_FORMAT,
    horovod.TRACE_FORMAT,
    hlo.TRACE_FORMAT,
    xla.TRACE_FORMAT,
    tensorflow.TRACE_FORMAT,
    kineto.TRACE_FORMAT,
    nsys.TRACE_FORMAT,
    dlc.TRACE_FORMAT,
    chakra.TRACE_FORMAT,
)
#: The readers by format name.
READERS: dict[str, Reader] = {form.name: form.read for form in FORMATS}


def formats_of(files: Sequence[bytes]) -> list[TraceFormat | None]:
    """Tell what each of the files of one recording is; None of what no reader takes."""
    told = [next((form for form in FORMATS if form.looks_like(file)), None) for file in files]
    for form in {form.name: form for form in told if form is not None}.values():
        if form.is_beside is not None:  # alone such files are no trace
            told = [
                known or (form if form.is_beside(file) else None)
                for known, file in zip(told, files, strict=True)
            ]
    return told


def detect(files: Sequence[bytes], names: Sequence[str | None] = ()) -> str:
    """Tell the format of unpacked files: a key of :data:`READERS`.

    ``names`` are what files are called where something is wrong with one.

    Raises
    ------
    InvalidTrace
        When there is none, or they are of several formats that do not go together.
    """
    places_of(files)
    told = formats_of(files)
    for i, known in enumerate(told):
        if known is None:
            named = names[i] if i < len(names) else None
            which = f"File {i + 1}" if len(files) > 1 else "The file"
            which += f" ({shown(named)})" if named else ""
            detail = f"{which} is {foreign.description(files[i]) or unknown(files[i])}."
            raise InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])
    formats = {form.name: form for form in told if form is not None}
    leading = next((name for name, form in formats.items() if form.leads), None)
    if len(formats) > 1 and leading is None:
        detail = f"The files are of several formats: {', '.join(formats)}."
        raise InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])
    return leading or next(iter(formats))


def is_aside(content: bytes) -> bool:
    """Tell whether an unpacked file that is of no format is no broken recording, as a README.

    A recording is JSON and has a sign of a format, or does not read as text.
    """
    if content.lstrip().startswith((b"{", b"[")):
        return not nearest_said(content, FORMATS)
    try:
        content[:SEEN].decode("utf-8", errors="strict" if len(content) <= SEEN else "ignore")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content[:SEEN]


def unknown(content: bytes) -> str:
    """Say of what an unpacked file is none, and what comes nearest: it completes "The file is"."""
    near = nearest_said(content, FORMATS)
    said = f"of none of the known formats: {', '.join(READERS)}"
    return f"{said}. {near.removesuffix('.')}" if near else said


def read_trace(
    files: Sequence[bytes],
    options: TraceOptions = TraceOptions(),  # noqa: B008 - frozen
    form: str | None = None,
) -> Trace:
    """Read unpacked files of one recording as a graph, and report what was dropped and assumed.

    ``form`` is a key of :data:`READERS`; None detects it.

    Raises
    ------
    InvalidTrace
        When the format is unknown, cannot be told, or its reader rejects the files.
    """
    name = detect(files) if form is None else form
    if name not in READERS:
        detail = must_be("Format", one_of(READERS), name, READERS)
        raise InvalidTrace([Fault("/format", FaultCode.WRONG_FORMAT, detail)])
    with uncollected():
        return READERS[name](files, options)
