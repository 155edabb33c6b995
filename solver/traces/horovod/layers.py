"""The second file: layers with their times and gradients, and which tensor is which gradient.

``{"layers": [{"name": "fc1", "forward_us": 10, "backward_us": 20, "update_us": 1,
"gradients": [["fc1.weight", 4000], ["fc1.bias", null]]}]}``, in the order of the forward pass;
bytes may be null where the timeline has them, ``update_us`` and ``gradients`` may be left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.limits import MAX_BYTES, MAX_DURATION_US
from solver.models.layers import Layer
from solver.traces.files import MARK, beginning
from solver.wording import must_be

_LAYERS = re.compile(rb'"layers"\s*:\s*\[')
_LONGEST = 512
_PLACE = re.compile(r"`\$([^`]*)`$")


class LayerTimes(msgspec.Struct, forbid_unknown_fields=True):
    """A layer as it is written; bytes of a gradient are None where they are not."""

    name: str
    forward_us: float
    backward_us: float
    gradients: list[tuple[str, int | None]] = []
    update_us: float = 0.0


class _WrittenLayer(msgspec.Struct, forbid_unknown_fields=True):
    """The same as JSON has it, where whole numbers may have a point."""

    name: str
    forward_us: float
    backward_us: float
    gradients: list[tuple[str, int | float | None]] = []  # large ones stay exact
    update_us: float = 0.0


class _LayersFile(msgspec.Struct):
    layers: list[_WrittenLayer]


_DECODER: msgspec.json.Decoder[_LayersFile] = msgspec.json.Decoder(_LayersFile)


def is_layers(content: bytes) -> bool:
    """Tell whether a file's first bytes are those of a file of layers."""
    head = beginning(content)
    return head.startswith(b"{") and _LAYERS.search(head) is not None and b"backward_us" in head


def read_layers(content: bytes, place: str) -> list[LayerTimes]:
    """Read layers; their gradients may lack their bytes.

    Raises
    ------
    InvalidTrace
        When the file is no JSON of this form, or with every value that is out of range and every
        name that is there twice.
    """
    try:
        layers = _DECODER.decode(content.removeprefix(MARK)).layers
    except msgspec.ValidationError as error:
        where = _PLACE.search(str(error))
        pointer = re.sub(r"[.\[]", "/", where[1]).replace("]", "") if where else ""
        detail = f"Layers: {error}."
        raise InvalidTrace([Fault(place + pointer, FaultCode.WRONG_TYPE, detail)]) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidTrace([Fault(place, FaultCode.NOT_JSON, f"Layers: {error}.")]) from None
    faults = first_of(_faults(layers, f"{place}/layers"))
    if faults:
        raise InvalidTrace(faults)
    return [
        LayerTimes(
            layer.name,
            layer.forward_us,
            layer.backward_us,
            [(name, None if size is None else int(size)) for name, size in layer.gradients],
            layer.update_us,
        )
        for layer in layers
    ]


def _faults(layers: Sequence[_WrittenLayer], place: str) -> Iterator[Fault]:
    names: set[str] = set()
    gradients: set[str] = set()
    for i, layer in enumerate(layers):
        if layer.name in names:
            detail = f"Layer {layer.name!r} is there twice."
            yield Fault(f"{place}/{i}/name", FaultCode.DUPLICATE_ID, detail)
        names.add(layer.name)
        for field in ("forward_us", "backward_us", "update_us"):
            value = getattr(layer, field)
            if not isfinite(value) or not 0 <= value <= MAX_DURATION_US:
                rule = f"{field} must be 0 to {MAX_DURATION_US:g}, got {value!r}."
                detail = f"Layer {layer.name!r}: {rule}"
                yield Fault(f"{place}/{i}/{field}", FaultCode.OUT_OF_RANGE, detail)
        for j, (name, size) in enumerate(layer.gradients):
            at = f"{place}/{i}/gradients/{j}"
            if not 0 < len(name) <= _LONGEST:
                detail = f"A gradient's name has 1 to {_LONGEST} characters, got {len(name)}."
                yield Fault(at, FaultCode.OUT_OF_RANGE, detail)
            if name in gradients:
                yield Fault(at, FaultCode.DUPLICATE_ID, f"Gradient {name!r} is there twice.")
            gradients.add(name)
            if isinstance(size, float) and not size.is_integer():
                detail = must_be(f"Gradient {name!r}: bytes", "an integer", size)
                yield Fault(at, FaultCode.WRONG_TYPE, detail)
            elif size is not None and not 1 <= size <= MAX_BYTES:
                detail = f"Gradient {name!r}: bytes must be 1 to 2^60, got {size}."
                yield Fault(at, FaultCode.OUT_OF_RANGE, detail)


def gradients_of(layers: Iterable[LayerTimes]) -> dict[str, int | None]:
    """Return the bytes of all gradients by name, None where they are not written."""
    return {name: size for layer in layers for name, size in layer.gradients}


def matched(tensors: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return which known name each tensor has: its own, or the longest that its own ends with.

    Frameworks put more before a name: ``allreduce.fc1.weight``, ``scope/fc1.weight``. A known name
    that two tensors end with is that of none. O(tensors times the lengths that known names have).
    """
    tensors = list(tensors)
    own = set(known)
    found = {tensor: tensor for tensor in tensors if tensor in own}
    names = own.difference(found)
    lengths = sorted({len(name) for name in names if name}, reverse=True)
    for tensor in tensors:
        for length in lengths if tensor not in found else ():
            if tensor[-length - 1 : -length] in {".", "/"} and tensor[-length:] in names:
                found[tensor] = tensor[-length:]
                break
    uses = Counter(found.values())
    return {tensor: name for tensor, name in found.items() if uses[name] == 1}


def sized_layers(
    layers: Iterable[LayerTimes], names: Mapping[str, str], sizes: Mapping[str, int]
) -> list[Layer]:
    """Return layers with the tensors of the timeline as their gradients.

    Parameters
    ----------
    layers
        As they were read.
    names
        Tensor of each gradient by name; others of known bytes are sent as well.
    sizes
        Bytes of each tensor.
    """
    return [
        Layer(
            layer.name,
            layer.forward_us,
            layer.backward_us,
            tuple(_gradients(layer, names, sizes)),
            layer.update_us,
        )
        for layer in layers
    ]


def _gradients(
    layer: LayerTimes, names: Mapping[str, str], sizes: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    for name, size in layer.gradients:
        if name in names:
            yield names[name], sizes[names[name]]
        elif size is not None:
            yield name, size
