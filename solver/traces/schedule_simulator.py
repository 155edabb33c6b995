"""``.dag`` files of schedule-simulator: JSON of a network's layers, with times and gradients.

A layer is ``{"forward_pass_units", "backward_pass_units", "communication_units", "input_layers",
"output_layers", "extras": {"name"}}`` under its number; the file's ``extras`` say of which units
times and bytes are. Its simulator runs layers in topological order, sends a layer's gradient when
its backward pass is done, and lets the next forward pass of the layer wait for it.

References
----------
.. [1] ChenYuHo/schedule-simulator, ``DNN_functions.py``, ``train``.
"""

import json
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.limits import MAX_BYTES
from solver.models.layers import Layer
from solver.traces.files import SEEN, single_text
from solver.traces.formats import TraceFormat, names
from solver.traces.layer_graphs import ASSUMED, trace_of
from solver.traces.order import Edge, topological_order, unknown_node
from solver.traces.step_ops import numbered
from solver.traces.trace import Trace, TraceOptions
from solver.units import TIME_UNITS
from solver.wording import one_of

FORMAT = "schedule_simulator"

_MARK = re.compile(rb'"(?:forward_pass_units|\$local\$(?:forward_pass|comm)_unit)"\s?:')
_NUMBER = re.compile(r"[0-9]{1,18}")
_FORWARD, _BACKWARD, _SENT = "forward_pass_units", "backward_pass_units", "communication_units"
_INPUTS, _OUTPUTS = "input_layers", "output_layers"
#: Bytes of each unit; those of thousands are not told from those of 1,024.
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
#: Where a file says its units, and which there are.
_UNITS: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("$local$forward_pass_unit", TIME_UNITS),
    ("$local$backward_pass_unit", TIME_UNITS),
    ("$local$comm_unit", _SIZES),
)


class _LayerExtras(msgspec.Struct, gc=False, frozen=True):
    """What a file says of a layer beside."""

    name: Any = None


class _LayerFields(msgspec.Struct, gc=False, frozen=True):
    """A layer as it is in the file, unchecked."""

    forward: Any = msgspec.field(name=_FORWARD, default=None)
    backward: Any = msgspec.field(name=_BACKWARD, default=None)
    sent: Any = msgspec.field(name=_SENT, default=None)
    inputs: Any = msgspec.field(name=_INPUTS, default=None)
    outputs: Any = msgspec.field(name=_OUTPUTS, default=None)
    extras: _LayerExtras | None = None


class _NetworkFile(msgspec.Struct):
    layers: dict[str, _LayerFields]
    extras: dict[str, Any] = {}


_DECODER = msgspec.json.Decoder(_NetworkFile)


def looks_like(content: bytes) -> bool:
    """Tell whether a file names the fields of this format."""
    return _MARK.search(content, 0, SEEN) is not None


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the one network and build the iteration.

    Layers run in topological order, ties by number.

    Raises
    ------
    InvalidTrace
        With every layer that cannot be read, every edge to none, a unit that is missing or
        unknown, no layer with a time, or when the layers form a cycle.

    Notes
    -----
    O(layers + edges), and a sort.
    """
    layers = _layers(single_text(files))
    return trace_of(FORMAT, options.name, layers, dropped=(), assumed=ASSUMED)


def _layers(text: str) -> list[Layer]:
    """Return the layers as they run."""
    units, layers = _parsed(text)
    scales = [scale[units[name]] for name, scale in _UNITS]
    order = topological_order(map(int, layers), lambda: _edges(layers), "layer")
    seen: dict[str, int] = {}
    return [_layer(number, layers.pop(str(number)), scales, seen) for number in order]


def _layer(
    number: int, fields: _LayerFields, scales: Sequence[float], seen: dict[str, int]
) -> Layer:
    written = fields.extras.name if fields.extras else None
    name = numbered(written if isinstance(written, str) and written else f"layer{number}", seen)
    forward, backward, sent = (
        amount * scale
        for amount, scale in zip(
            (fields.forward, fields.backward, fields.sent), scales, strict=True
        )
    )
    size = round(sent)
    return Layer(name, forward, backward, ((name, size),) if size else ())


def _edges(layers: Mapping[str, _LayerFields]) -> Iterator[Edge]:
    """Yield the edges between layers; either end may say one."""
    for number, fields in layers.items():
        head = int(number)
        for i, other in enumerate(fields.inputs or ()):
            yield Edge(other, head, f"/layers/{number}/{_INPUTS}/{i}")
        for i, other in enumerate(fields.outputs or ()):
            yield Edge(head, other, f"/layers/{number}/{_OUTPUTS}/{i}")


def _parsed(text: str) -> tuple[Mapping[str, Any], MutableMapping[str, _LayerFields]]:
    """Read what the file says of itself, and its layers by number; with every fault."""
    units, layers = _decoded(text)
    if not layers:
        detail = "A network needs an object of layers, each by its number."
        raise InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])
    faults = first_of(_faults(units, layers))
    if faults:
        raise InvalidTrace([*faults, *first_of(_edge_faults(layers))])
    return units, {number: fields for number, fields in layers.items() if fields is not None}


def _decoded(text: str) -> tuple[Mapping[str, Any], Mapping[str, _LayerFields | None]]:
    """Return them with whatever their fields are; None in the place of a layer that is no object.

    There are no layers where the file has no object of them.
    """
    try:
        file = _DECODER.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass  # json takes NaN, and tells what is no JSON from what is none of this format
    else:
        return file.extras, file.layers
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        detail = "Not JSON, or nested too deeply."
        raise InvalidTrace([Fault("", FaultCode.NOT_JSON, detail)]) from None
    whole = content if isinstance(content, dict) else {}
    extras, layers = whole.get("extras"), whole.get("layers")
    return (
        extras if isinstance(extras, dict) else {},
        {number: _fields(layer) for number, layer in layers.items()}
        if isinstance(layers, dict)
        else {},
    )


def _fields(layer: Any) -> _LayerFields | None:
    """Return an object of JSON as a layer's fields; None of what is no object."""
    if not isinstance(layer, dict):
        return None
    extras = layer.get("extras")
    beside = _LayerExtras(extras.get("name")) if isinstance(extras, dict) else None
    return _LayerFields(
        layer.get(_FORWARD),
        layer.get(_BACKWARD),
        layer.get(_SENT),
        layer.get(_INPUTS),
        layer.get(_OUTPUTS),
        beside,
    )


def _faults(units: Mapping[str, Any], layers: Mapping[str, _LayerFields | None]) -> Iterator[Fault]:
    for name, known in _UNITS:
        unit = units.get(name)
        if not isinstance(unit, str) or unit not in known:
            detail = f"{name} must be {one_of(tuple(known))}, got {json.dumps(unit)}."
            yield Fault(f"/extras/{name}", FaultCode.NOT_SUPPORTED, detail)
    for number, fields in layers.items():
        if not _NUMBER.fullmatch(number) or str(int(number)) != number:
            detail = f"Layer {json.dumps(number)}: its key must be a number, 0 or more."
            yield Fault("/layers", FaultCode.WRONG_FORMAT, detail)
        elif fields is None:
            detail = f"Layer {number} is no object."
            yield Fault(f"/layers/{number}", FaultCode.WRONG_TYPE, detail)
        else:
            yield from _layer_faults(number, fields)
    if all(fields and fields.forward == 0 == fields.backward for fields in layers.values()):
        detail = "No layer has a time: the network was not profiled."
        yield Fault("/layers", FaultCode.NO_COMPUTE, detail)


def _edge_faults(layers: Mapping[str, _LayerFields | None]) -> Iterator[Fault]:
    """List the layers that edges name and that are not there, of the edges that can be read."""
    for number, fields in layers.items():
        ends = ((_INPUTS, fields.inputs), (_OUTPUTS, fields.outputs)) if fields else ()
        for field, others in ends:
            for i, other in enumerate(others if isinstance(others, list) else ()):
                if type(other) is int and str(other) not in layers:
                    yield unknown_node(f"/layers/{number}/{field}/{i}", f"layer{other}")


def _layer_faults(number: str, fields: _LayerFields) -> Iterator[Fault]:
    amounts = (_FORWARD, fields.forward), (_BACKWARD, fields.backward), (_SENT, fields.sent)
    for field, amount in amounts:
        if not _is_amount(amount):
            detail = f"Layer {number}: {field} must be a number from 0 to 2^60."
            yield Fault(f"/layers/{number}/{field}", FaultCode.OUT_OF_RANGE, detail)
    for field, others in ((_INPUTS, fields.inputs), (_OUTPUTS, fields.outputs)):
        is_list = others is None or isinstance(others, list)
        if not is_list or not all(type(other) is int for other in others or ()):
            detail = f"Layer {number}: {field} must be a list of numbers of layers."
            yield Fault(f"/layers/{number}/{field}", FaultCode.WRONG_TYPE, detail)


def _is_amount(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= MAX_BYTES


#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="schedule-simulator's `.dag`: one file of JSON",
    versions="all, from TensorFlow, Keras or PyTorch",
    reads="times of both passes, bytes of gradients, edges, units",
    assumes="passes in series, in topological order",
    refuses="cycles, units that are missing or unknown, networks without times",
    looks_like=looks_like,
    read=read,
    counted="values",
    layer_mark=b'"forward_pass_units"',
    signs=names('"forward_pass_units"', '"communication_units"'),
    is_graph=True,
)
