"""Text workloads of ASTRA-sim 1: layers with simulated compute times and what they send.

The first line names the parallelism, the second has the number of layers; then each line is a
layer: name, reserved, forward time, what it sends and how many bytes, the same three for the input
gradient and for the weight gradient, and the delay after that all-reduce until the weights are
updated. Fields are parted by blanks or tabs.

In the ``DATA`` loop the backward pass of a layer is its weight gradient, which releases its
all-reduce, then its input gradient; the first layer needs no input gradient. The delay runs beside
the compute, and the layer's next forward op waits for it.

References
----------
.. [1] ASTRA-sim, documentation of the workload input of version 1; Workload.cc,
       ``iterate_data_parallel``; Layer.cc, ``Wight_Grad_Comm_Finished_After_Delay``.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    COMPUTE,
    REDUCE_SCATTER,
    Op,
    build,
    first_of,
)
from solver.traces.exit_check import checked
from solver.traces.files import single_text
from solver.traces.formats import TraceFormat, names
from solver.traces.report import report_of
from solver.traces.trace import Trace, TraceOptions, as_trace_faults

FORMAT = "astra_text"

#: The parallelisms of ASTRA-sim, of which the first is read.
_PARALLELISMS = (
    "DATA",
    "MODEL",
    "MICRO",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_CUSTOMIZED",
    "HYBRID_TRANSFORMER",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "DISTRIBUTED_INFERENCE",
)
#: What a layer may send.
_KINDS = {
    "NONE": None,
    "ALLREDUCE": ALL_REDUCE,
    "ALLGATHER": ALL_GATHER,
    "REDUCESCATTER": REDUCE_SCATTER,
    "ALLTOALL": ALL_TO_ALL,
}
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*([A-Z_]+)\b[^\n\r]*[\r\n]+\s*[0-9]+\s")
_NUMBER = re.compile(r"[0-9]{1,18}")
_FIELDS = 12
#: Places of the compute times and the delay, of the kinds sent, and of all numbers.
_TIMES = (2, 5, 8, 11)
_KINDS_AT = (3, 6, 9)
_PASSES = ("forward pass", "input gradient")
_NUMBERS = (*_TIMES, *(place + 1 for place in _KINDS_AT))
_US_PER_CYCLE = 1e-3

ASSUMED = (
    "A cycle is 1 ns (1 GHz): the file gives cycles, not the clock.",
    "The compute times are simulated ones, of the accelerator that the workload was made for.",
    "Each layer's all-reduce comes after its weight gradient.",
    "Each layer's next forward op waits for its all-reduce and the update's delay.",
)


class _Layer(NamedTuple):
    name: str
    forward: int
    input_gradient: int
    weight_gradient: int
    kind: str
    bytes: int
    delay: int
    ignored: str


def looks_like(content: bytes) -> bool:
    """Tell whether a file begins with a parallelism of ASTRA-sim and a number of layers."""
    found = _FIRST.match(content[:512])
    return found is not None and found[1].decode() in _PARALLELISMS


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the one workload and build the iteration.

    Raises
    ------
    InvalidTrace
        With every line that cannot be read (pointers are ``/line``); when the number of layers is
        not that of the second line (``truncated``), or the parallelism is not ``DATA``
        (``not_supported``): others do not say which workers share in what is sent.
    """
    lines = [(i, line.split()) for i, line in enumerate(single_text(files).splitlines(), start=1)]
    lines = [(i, fields) for i, fields in lines if fields]
    layers = _parse_lines(lines)
    with as_trace_faults():
        graph = build(options.name, _ops(layers))
    report = report_of(
        FORMAT,
        graph,
        dropped=_losses(layers),
        assumed=ASSUMED,
    )
    return checked(Trace(graph, report))


def _ops(layers: Sequence[_Layer]) -> Iterator[Op]:
    """Yield the backward pass, the updates, and the next forward pass."""
    last: tuple[str, ...] = ()
    for layer in reversed(layers):
        yield _compute(f"weight:{layer.name}", layer.weight_gradient, last)
        last = (f"weight:{layer.name}",)
        if layer.bytes:
            yield Op(f"grad:{layer.name}", layer.kind, None, layer.bytes, last)
        if layer is not layers[0]:
            yield _compute(f"input:{layer.name}", layer.input_gradient, last)
            last = (f"input:{layer.name}",)
    for layer in layers:
        awaited: tuple[str, ...] = (f"grad:{layer.name}",) if layer.bytes else ()
        if layer.bytes and layer.delay:
            yield _compute(f"update:{layer.name}", layer.delay, awaited)
            awaited = (f"update:{layer.name}",)
        yield _compute(f"forward:{layer.name}", layer.forward, last + awaited)
        last = (f"forward:{layer.name}",)


def _compute(name: str, cycles: int, after: tuple[str, ...]) -> Op:
    return Op(name, COMPUTE, cycles * _US_PER_CYCLE, None, after)


def _losses(layers: Sequence[_Layer]) -> Iterator[str]:
    first = layers[0]
    if first.input_gradient:
        yield f"{first.name}: {first.input_gradient} cycles of input gradient that nothing uses"
    for layer in layers:
        if layer.ignored:
            yield f"{layer.name}: {layer.ignored}, which the DATA loop does not send"


def _parse_lines(lines: Sequence[tuple[int, list[str]]]) -> list[_Layer]:
    """Read the lines that are not empty, with their numbers."""
    if not lines or lines[0][1][0] not in _PARALLELISMS:
        detail = f"Line 1 must name a parallelism of ASTRA-sim: {', '.join(_PARALLELISMS)}."
        raise InvalidTrace([Fault("/1", FaultCode.WRONG_FORMAT, detail)])
    number, fields = lines[0]
    if fields[0] != _PARALLELISMS[0]:
        detail = (
            f"Parallelism {fields[0]} is not read, only DATA: the file does not say which workers "
            "share in what a layer sends."
        )
        raise InvalidTrace([Fault(f"/{number}", FaultCode.NOT_SUPPORTED, detail)])
    if len(lines) == 1 or not _NUMBER.fullmatch(lines[1][1][0]):
        detail = "The second line must be the number of layers."
        raise InvalidTrace([Fault("/2", FaultCode.WRONG_FORMAT, detail)])
    count = int(lines[1][1][0])
    faults = first_of(_faults(lines[2:]))
    if count != len(lines) - 2:
        detail = f"Line {lines[1][0]} says {count} layers, but {len(lines) - 2} follow."
        faults.append(Fault("", FaultCode.TRUNCATED, detail))
    if not faults and not count:
        faults = [Fault("", FaultCode.NO_COLLECTIVE, "The workload has no layers.")]
    if faults:
        raise InvalidTrace(faults)
    return [_layer(fields) for _, fields in lines[2:]]


def _faults(lines: Sequence[tuple[int, list[str]]]) -> Iterator[Fault]:
    names: set[str] = set()
    for number, fields in lines:
        pointer = f"/{number}"
        if len(fields) < _FIELDS:
            detail = f"Line {number}: a layer has {_FIELDS} fields, here are {len(fields)}."
            yield Fault(pointer, FaultCode.WRONG_FORMAT, detail)
            continue
        if fields[0] in names:
            detail = f"Line {number}: layer {fields[0]!r} is there twice."
            yield Fault(pointer, FaultCode.DUPLICATE_ID, detail)
        names.add(fields[0])
        for place in _NUMBERS:
            if not _NUMBER.fullmatch(fields[place]):
                detail = f"Line {number}: field {place + 1} must be a whole number, 0 or more."
                yield Fault(pointer, FaultCode.OUT_OF_RANGE, detail)
        for place in _KINDS_AT:
            if fields[place] not in _KINDS:
                detail = f"Line {number}: field {place + 1} must be one of {', '.join(_KINDS)}."
                yield Fault(pointer, FaultCode.OUT_OF_RANGE, detail)


def _layer(fields: Sequence[str]) -> _Layer:
    forward, input_gradient, weight_gradient, delay = (int(fields[place]) for place in _TIMES)
    sizes = [int(fields[place + 1]) if _KINDS[fields[place]] else 0 for place in _KINDS_AT]
    ignored = [
        f"{fields[place]} of {size:,} bytes in the {name}"
        for place, size, name in zip(_KINDS_AT[:2], sizes[:2], _PASSES, strict=True)
        if size
    ]
    kind = _KINDS[fields[_KINDS_AT[2]]] or ALL_REDUCE
    return _Layer(
        name=fields[0],
        forward=forward,
        input_gradient=input_gradient,
        weight_gradient=weight_gradient,
        kind=kind,
        bytes=sizes[2],
        delay=delay,
        ignored=" and ".join(ignored),
    )


#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="ASTRA-sim's text workloads: one file",
    versions="ASTRA-sim 1",
    reads="cycles, bytes, update delay",
    assumes="a clock of 1 GHz",
    refuses="all parallelisms but `DATA`",
    looks_like=looks_like,
    read=read,
    counted="lines",
    layer_mark=b"\n",
    signs=names("DATA", "ALLREDUCE", "NONE"),
    is_graph=True,
)
