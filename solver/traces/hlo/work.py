"""What an instruction does: floating-point operations of products, and bytes that it moves."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from solver.traces.hlo.devices import Device
from solver.traces.hlo.module import HloComputation, HloInstruction, HloModule
from solver.traces.hlo.shapes import ArrayShape, bytes_of, leaves

#: They name, number or hold what is there, and take no time.
FREE = frozenset(
    {
        "parameter",
        "constant",
        "tuple",
        "get-tuple-element",
        "bitcast",
        "after-all",
        "opt-barrier",
        "optimization-barrier",
        "partition-id",
        "replica-id",
        "domain",
        "add-dependency",
    }
)
#: Of their first operand they read what they give.
_SLICES = {"slice", "dynamic-slice", "gather"}
_UPDATE = "dynamic-update-slice"
_TRIPS = re.compile(r'known_trip_count\\?"\s*:\s*\{\s*\\?"n\\?"\s*:\s*\\?"?(\d{1,9})')
_CONTRACTED = re.compile(r'lhs_contracting_dimensions\\?"\s*:\s*\[([^\]]*)\]')
_LABELS = re.compile(r"dim_labels=\w+_(\w+)->\w+")


@dataclass(frozen=True, slots=True)
class InstructionWork:
    """What is done once.

    Attributes
    ----------
    product_us
        The time of products and convolutions at the device's rate [us].
    bytes
        Read and written.
    """

    product_us: float
    bytes: int


class Roofline:
    """Times of a module's instructions on a device, and which work nobody knows."""

    def __init__(self, module: HloModule, device: Device) -> None:
        self._module = module
        self._device = device
        #: Names of custom calls whose operations are not known: their bytes count alone.
        self.opaque: dict[str, None] = {}
        self._sums: dict[str, float | None] = {}
        self._products: dict[str, float] = {}

    def time(self, one: HloInstruction, within: HloComputation) -> float | None:
        """Return how long an instruction takes [us]; None of a loop without a known end.

        The larger of the time of its products and that of its bytes; of a loop its turns times its
        body, of a conditional its longest branch, of a call the sum of what it calls.

        Notes
        -----
        O(instructions that it runs).
        """
        if one.opcode in FREE:
            return 0.0
        if one.opcode == "while":
            turns = trips(one)
            body = self._sum(one.calls()[0])
            return None if turns is None or body is None else turns * body
        if one.opcode == "conditional":
            times = [self._sum(name) for name in one.branches()]
            known = [time for time in times if time is not None]
            return max(known, default=0.0) if len(known) == len(times) else None
        if one.opcode.removesuffix("-start") in ("call", "async") and one.calls():
            return self._sum(one.calls()[0])
        work = self._work(one, within)
        return max(work.product_us, work.bytes / (self._device.memory_gbs * 1e3))

    def _sum(self, name: str) -> float | None:
        """Return how long a computation takes, one instruction after another [us]."""
        if name not in self._sums:
            computation = self._module.computations[name]
            each = [self.time(one, computation) for one in computation.instructions.values()]
            known = [time for time in each if time is not None]
            self._sums[name] = sum(known) if len(known) == len(each) else None
        return self._sums[name]

    def _work(self, one: HloInstruction, within: HloComputation) -> InstructionWork:
        if one.opcode.removesuffix("-start") != "fusion" or not one.calls():
            return InstructionWork(self._product_us(one, within), sum(moved(one, within)))
        inside = self._module.computations[one.calls()[0]]
        return InstructionWork(self._products_us(inside), fused_bytes(one, within, inside))

    def _products_us(self, inside: HloComputation) -> float:
        if inside.name not in self._products:
            each = (self._product_us(one, inside) for one in inside.instructions.values())
            self._products[inside.name] = sum(each)
        return self._products[inside.name]

    def _product_us(self, one: HloInstruction, within: HloComputation) -> float:
        if one.opcode == "fusion":  # one within another
            return self._products_us(self._module.computations[one.calls()[0]])
        flops = product_flops(one, within)
        if flops is None:
            self.opaque[one.name] = None
        if not flops:
            return 0.0
        given = [within.instructions[name].shape for name in one.operands[:1]]
        kinds = [leaf.type for shape in given for leaf in leaves(shape)]
        exact = "highest" in (one.attribute("operand_precision") or "")
        return flops / self._device.rate(kinds[0] if kinds else "", exact=exact)


def trips(one: HloInstruction) -> int | None:
    """Return how often a loop runs its body, where XLA knows it."""
    found = _TRIPS.search(one.attributes)
    return None if found is None else int(found[1])


def product_flops(one: HloInstruction, within: HloComputation) -> int | None:
    """Return the operations of a product: two for each pair of numbers that are multiplied.

    0 of all that is no product or convolution; None of a custom call that may be one. Of a
    convolution windows count whole, at its edges too.
    """
    if one.opcode == "custom-call":
        return _custom_flops(one, within)
    if one.opcode not in ("dot", "convolution"):
        return 0
    out = _out(one)
    if one.opcode == "dot":
        contracted = _numbers(one.attribute("lhs_contracting_dims"))
        return 2 * out * _lengths(one, within, 0, contracted)
    return _convolution_flops(one, within, out)


def _convolution_flops(one: HloInstruction, within: HloComputation, out: int) -> int | None:
    labels = _LABELS.search(one.plain)
    kernel = _array(one, within, 1)
    if labels is None or kernel is None or len(labels[1]) != len(kernel.dims):
        return None
    features = kernel.dims[labels[1].index("o")] if "o" in labels[1] else 1
    return 2 * out * (kernel.count // max(1, features))


def _custom_flops(one: HloInstruction, within: HloComputation) -> int | None:
    out = _out(one)
    contracted = _CONTRACTED.search(one.attributes)
    if contracted:
        return 2 * out * _lengths(one, within, 0, _numbers(contracted[1].replace("\\", "")))
    if _LABELS.search(one.plain):
        return _convolution_flops(one, within, out)
    return None


def _out(one: HloInstruction) -> int:
    """Return how many numbers the first array of a result has."""
    return next((leaf.count for leaf in leaves(one.shape)), 0)


def _numbers(text: str | None) -> list[int]:
    return [int(each) for each in re.findall(r"\d{1,3}", text or "")]


def _array(one: HloInstruction, within: HloComputation, place: int) -> ArrayShape | None:
    if place >= len(one.operands):
        return None
    shape = within.instructions[one.operands[place]].shape
    return shape if isinstance(shape, ArrayShape) else None


def _lengths(one: HloInstruction, within: HloComputation, place: int, dims: list[int]) -> int:
    array = _array(one, within, place)
    return prod(array.dims[k] for k in dims if k < len(array.dims)) if array else 1


def moved(one: HloInstruction, within: HloComputation) -> Iterator[int]:
    """Yield bytes that an instruction that is no fusion reads and writes, array by array."""
    sizes = [bytes_of(within.instructions[name].shape) for name in one.operands]
    out = bytes_of(one.shape)
    if one.opcode in _SLICES:
        yield from (out, out, *sizes[1:])
    elif one.opcode == _UPDATE and len(sizes) > 1:
        yield from (sizes[1], *sizes[1:])
    else:
        yield from (out, *sizes)


def fused_bytes(one: HloInstruction, within: HloComputation, inside: HloComputation) -> int:
    """Return bytes that a fusion reads and writes.

    Of an operand that it only cuts slices out of these count; of one that it updates a slice of,
    which its result is, that slice counts, read and written.
    """
    users: dict[str, list[HloInstruction]] = {}
    for each in inside.instructions.values():
        for name in dict.fromkeys(each.operands):
            users.setdefault(name, []).append(each)
    total = 0
    for each in inside.instructions.values():
        if each.number is None or each.number >= len(one.operands):
            continue
        size = bytes_of(within.instructions[one.operands[each.number]].shape)
        by = list(_through(each.name, users))
        if by and all(user.opcode in _SLICES and user.operands[0] == via for user, via in by):
            size = min(size, sum(bytes_of(user.shape) for user, _ in by))
        elif by and all(user.opcode == _UPDATE and user.operands[0] == via for user, via in by):
            size = 0
        total += size
    root = updated_root(inside)
    if root is not None and len(root.operands) > 1:
        return total + 2 * bytes_of(inside.instructions[root.operands[1]].shape)
    return total + bytes_of(one.shape)


def _through(
    name: str, users: dict[str, list[HloInstruction]]
) -> Iterator[tuple[HloInstruction, str]]:
    """Yield who uses a value, through bitcasts, each with the name that it uses."""
    names = [name]
    while names:
        via = names.pop()
        for user in users.get(via, ()):
            if user.opcode == "bitcast":
                names.append(user.name)
            else:
                yield user, via


def updated_root(inside: HloComputation) -> HloInstruction | None:
    """Return the update of a slice that a computation's result is, through bitcasts, if it is."""
    root = _unbitcast(inside.root, inside)
    return root if root.opcode == _UPDATE else None


def updated_operand(one: HloInstruction, module: HloModule) -> int | None:
    """Return which operand an instruction updates a slice of, where its result is no more."""
    if one.opcode == _UPDATE:
        return 0
    if one.opcode != "fusion":
        return None
    inside = module.computations[one.calls()[0]]
    root = updated_root(inside)
    return None if root is None else _unbitcast(root.operands[0], inside).number


def _unbitcast(name: str, inside: HloComputation) -> HloInstruction:
    one = inside.instructions[name]
    while one.opcode == "bitcast":
        one = inside.instructions[one.operands[0]]
    return one
