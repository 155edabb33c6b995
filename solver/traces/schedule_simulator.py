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
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.limits import MAX_BYTES
from solver.models.layers import Layer
from solver.traces.files import SEEN, single_text
from solver.traces.formats import TraceFormat, names
from solver.traces.layer_graphs import ASSUMED, trace_of
from solver.traces.order import Edge, topological_order
from solver.traces.step_ops import numbered
from solver.traces.trace import Trace, TraceOptions
from solver.units import TIME_UNITS
from solver.wording import one_of

FORMAT = "schedule_simulator"

_MARK = re.compile(rb'"(?:forward_pass_units|\$local\$(?:forward_pass|comm)_unit)"\s?:')
_NUMBER = re.compile(r"[0-9]{1,18}")
_FORWARD, _BACKWARD, _SENT = "forward_pass_units", "backward_pass_units", "communication_units"
#: Bytes of each unit; those of thousands are not told from those of 1,024.
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
#: Where a file says its units, and which there are.
_UNITS: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("$local$forward_pass_unit", TIME_UNITS),
    ("$local$backward_pass_unit", TIME_UNITS),
    ("$local$comm_unit", _SIZES),
)


def looks_like(content: bytes) -> bool:
    """Tell whether a file names the fields of this format."""
    return _MARK.search(content, 0, SEEN) is not None


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the one network and build the iteration.

    Layers run in topological order, ties by number.

    Raises
    ------
    InvalidTrace
        With every layer that cannot be read, a unit that is missing or unknown, no layer with a
        time, or when the layers form a cycle.

    Notes
    -----
    O(layers + edges), and a sort.
    """
    units, layers = _parsed(single_text(files))
    faults = first_of(_faults(units, layers))
    if faults:
        raise InvalidTrace(faults)
    scales = [scale[units[name]] for name, scale in _UNITS]
    order = topological_order([int(number) for number in layers], list(_edges(layers)), "layer")
    seen: dict[str, int] = {}
    known = [_layer(number, layers[str(number)], scales, seen) for number in order]
    if not any(layer.forward_us or layer.backward_us for layer in known):
        detail = "No layer has a time: the network was not profiled."
        raise InvalidTrace([Fault("/layers", FaultCode.NO_COMPUTE, detail)])
    return trace_of(FORMAT, options.name, known, dropped=(), assumed=ASSUMED)


def _layer(
    number: int, fields: Mapping[str, Any], scales: Sequence[float], seen: dict[str, int]
) -> Layer:
    extras = fields.get("extras")
    written = extras.get("name") if isinstance(extras, dict) else None
    name = numbered(written if isinstance(written, str) and written else f"layer{number}", seen)
    forward, backward, sent = (
        fields[field] * scale
        for field, scale in zip((_FORWARD, _BACKWARD, _SENT), scales, strict=True)
    )
    size = round(sent)
    return Layer(name, forward, backward, ((name, size),) if size else ())


def _edges(layers: Mapping[str, Mapping[str, Any]]) -> Iterator[Edge]:
    """Yield the edges between layers; either end may say one."""
    for number, fields in layers.items():
        for field in ("input_layers", "output_layers"):
            for i, other in enumerate(fields.get(field) or ()):
                ends = (other, int(number))
                tail, head = ends if field == "input_layers" else ends[::-1]
                yield Edge(tail, head, f"/layers/{number}/{field}/{i}")


def _parsed(text: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Read the JSON: what it says of itself, and its layers by number."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        detail = "Not JSON, or nested too deeply."
        raise InvalidTrace([Fault("", FaultCode.NOT_JSON, detail)]) from None
    whole = content if isinstance(content, dict) else {}
    extras, layers = whole.get("extras"), whole.get("layers")
    if not isinstance(layers, dict) or not layers:
        detail = "A network needs an object of layers, each by its number."
        raise InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, detail)])
    return extras if isinstance(extras, dict) else {}, layers


def _faults(units: Mapping[str, Any], layers: Mapping[str, Any]) -> Iterator[Fault]:
    for name, known in _UNITS:
        unit = units.get(name)
        if not isinstance(unit, str) or unit not in known:
            detail = f"{name} must be {one_of(tuple(known))}, got {json.dumps(unit)}."
            yield Fault(f"/extras/{name}", FaultCode.NOT_SUPPORTED, detail)
    for number, fields in layers.items():
        pointer = f"/layers/{number}"
        if not _NUMBER.fullmatch(number) or str(int(number)) != number:
            detail = f"Layer {json.dumps(number)}: its key must be a number, 0 or more."
            yield Fault("/layers", FaultCode.WRONG_FORMAT, detail)
        elif not isinstance(fields, dict):
            yield Fault(pointer, FaultCode.WRONG_TYPE, f"Layer {number} is no object.")
        else:
            yield from _layer_faults(number, fields, pointer)


def _layer_faults(number: str, fields: Mapping[str, Any], pointer: str) -> Iterator[Fault]:
    for field in (_FORWARD, _BACKWARD, _SENT):
        if not _is_amount(fields.get(field)):
            detail = f"Layer {number}: {field} must be a number from 0 to 2^60."
            yield Fault(f"{pointer}/{field}", FaultCode.OUT_OF_RANGE, detail)
    for field in ("input_layers", "output_layers"):
        others = fields.get(field)
        is_list = others is None or isinstance(others, list)
        if not is_list or not all(type(other) is int for other in others or ()):
            detail = f"Layer {number}: {field} must be a list of numbers of layers."
            yield Fault(f"{pointer}/{field}", FaultCode.WRONG_TYPE, detail)


def _is_amount(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value <= MAX_BYTES


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
    signs=names('"forward_pass_units"', '"communication_units"'),
    is_graph=True,
)
