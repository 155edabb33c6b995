"""The readers by format name, and which of them a file is for."""

from collections.abc import Callable, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces import (
    astra_text,
    chakra,
    dlc,
    dnn_partitioning,
    foreign,
    horovod,
    kineto,
    pipedream,
    pytorch_et,
    tensorflow,
    xla,
)
from solver.traces.files import places_of
from solver.traces.trace import Reader, Trace, TraceOptions
from solver.wording import must_be, one_of

#: The readers by format name, and what tells a file of theirs; add a reader here.
READERS: dict[str, Reader] = {
    pipedream.FORMAT: pipedream.read,
    dnn_partitioning.FORMAT: dnn_partitioning.read,
    astra_text.FORMAT: astra_text.read,
    pytorch_et.FORMAT: pytorch_et.read,
    horovod.FORMAT: horovod.read,
    xla.FORMAT: xla.read,
    tensorflow.FORMAT: tensorflow.read,
    kineto.FORMAT: kineto.read,
    chakra.FORMAT: chakra.read,
    dlc.FORMAT: dlc.read,
}
_LOOKS: dict[str, Callable[[bytes], bool]] = {
    pipedream.FORMAT: pipedream.looks_like,
    dnn_partitioning.FORMAT: dnn_partitioning.looks_like,
    astra_text.FORMAT: astra_text.looks_like,
    pytorch_et.FORMAT: pytorch_et.looks_like,
    horovod.FORMAT: horovod.looks_like,
    xla.FORMAT: xla.looks_like,
    tensorflow.FORMAT: tensorflow.looks_like,
    kineto.FORMAT: kineto.looks_like,
    dlc.FORMAT: dlc.looks_like,
    chakra.FORMAT: chakra.looks_like,
}
#: Formats that are read together with others', first come first.
_LEADING = ("pytorch_et",)


def detect(files: Sequence[bytes]) -> str:
    """Tell the format of unpacked files: a key of :data:`READERS`.

    Raises
    ------
    InvalidTrace
        When there is none, or they are of several formats that do not go together.
    """
    places_of(files)
    formats = [
        next((name for name, looks in _LOOKS.items() if looks(file)), None) for file in files
    ]
    if horovod.FORMAT in formats:  # layers alone are no trace
        formats = [
            name or (horovod.FORMAT if horovod.is_layers(file) else None)
            for name, file in zip(formats, files, strict=True)
        ]
    for i, name in enumerate(formats):
        if name is None:
            which = f"File {i + 1}" if len(files) > 1 else "The file"
            unknown = f"of none of the known formats: {', '.join(READERS)}"
            detail = f"{which} is {foreign.description(files[i]) or unknown}."
            raise InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])
    names = [name for name in dict.fromkeys(formats) if name is not None]
    leading = [name for name in _LEADING if name in names]
    if len(names) > 1 and not leading:
        detail = f"The files are of several formats: {', '.join(names)}."
        raise InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])
    return (leading or names)[0]


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
    return READERS[name](files, options)
