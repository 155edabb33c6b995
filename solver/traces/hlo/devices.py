"""Devices by name, for times of compute that nobody measured: a roofline."""

import re
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.wording import meant, one_of, shown

#: Least and most of a figure that is taken: the most is a thousand times the fastest device's.
_LEAST, _MOST = 1e-6, 1e7
_FIGURE = re.compile(r"\d{1,9}(?:\.\d{1,9})?(?:e[+-]?\d{1,2})?")


#: Share of the peak that products reach, where nobody says: an assumption.
_EFFICIENCY = 0.6


@dataclass(frozen=True, slots=True)
class Device:
    """What a device computes and moves at most.

    Attributes
    ----------
    name
        As it is asked for.
    tflops
        10^12 floating-point operations a second in dense products, by the type of what is
        multiplied; ``f32`` is at the precision of JAX by default.
    exact_tflops
        The same of ``f32`` at the highest precision.
    memory_gbs
        10^9 bytes a second between memory and chip.
    source
        Who says so.
    efficiency
        Share of the rates that products reach.
    """

    name: str
    tflops: tuple[tuple[str, float], ...]
    exact_tflops: float
    memory_gbs: float
    source: str
    efficiency: float = _EFFICIENCY

    def rate(self, kind: str, *, exact: bool = False) -> float:
        """Return the operations a microsecond of products of a type; of an unknown one the least.

        All types of 8 bits are ``f8``.
        """
        known = dict(self.tflops)
        kind = "f8" if kind.startswith("f8") else kind
        peak = known.get(kind, min(known.values()))
        return self.efficiency * 1e6 * (self.exact_tflops if exact and kind == "f32" else peak)


def _gpu(name: str, half: float, tf32: float, single: float, memory: float, said: str) -> Device:
    # products of 8 bits count at the rate of 16, as where PyTorch's graphs are captured
    rates = {"f8": half, "s8": half, "u8": half, "f16": half, "bf16": half, "f32": tf32}
    return Device(name, (*rates.items(), ("f64", single)), single, memory, said)


def _tpu(name: str, bf16: float, memory: float, said: str) -> Device:
    # products of f32 are of one pass in bf16 by default, of six at the highest precision
    rates = {"f8": bf16, "s8": bf16, "u8": bf16, "f16": bf16, "bf16": bf16, "f32": bf16}
    return Device(name, tuple(rates.items()), bf16 / 6, memory, said)


#: The devices, by the name that is asked for; figures are dense, not of sparse products.
DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        _gpu("h100", 989.4, 494.7, 66.9, 3350, "NVIDIA H100 data sheet, SXM5"),
        _gpu("h200", 989.4, 494.7, 66.9, 4800, "NVIDIA H200 data sheet, SXM"),
        _gpu("a100", 312, 156, 19.5, 2039, "NVIDIA A100 data sheet, 80 GB SXM"),
        _gpu("b200", 2250, 1125, 75, 7700, "NVIDIA HGX B200 data sheet, an eighth of it"),
        _gpu("l40s", 362, 183, 91.6, 864, "NVIDIA L40S data sheet"),
        _gpu("mi300x", 1307.4, 653.7, 163.4, 5300, "AMD Instinct MI300X data sheet"),
        _tpu("tpu-v5e", 197, 819, "Google Cloud's page of TPU v5e"),
        _tpu("tpu-v6e", 918, 1638, "Google Cloud's page of TPU v6e"),
    )
}

_FIELDS = ("tflops", "memory_gbs", "efficiency")


def device_of(text: str, place: str = "/query/device") -> Device:
    """Read a device: a name, ``tflops=400,memory_gbs=2000``, or a name with figures of one's own.

    ``h100:tflops=600`` is a name with figures: those given take the place of its own, ``tflops`` of
    all types, which is what products reach unless an ``efficiency`` is given.

    Raises
    ------
    InvalidTrace
        When it is none.
    """
    head, colon, tail = text.strip().partition(":")
    if not colon and "=" in head:
        head, tail = "", head
    if head and head not in DEVICES:
        detail = f"Device: {one_of(DEVICES)}, or tflops=...,memory_gbs=...; got {shown(head)}."
        raise InvalidTrace([Fault(place, FaultCode.OUT_OF_RANGE, detail + meant(head, DEVICES))])
    given: dict[str, float] = {}
    for each in filter(None, map(str.strip, tail.split(","))):
        name, _, value = each.partition("=")
        if name not in _FIELDS or name in given or not _FIGURE.fullmatch(value):
            detail = f"Device: {', '.join(_FIELDS)}, each =NUMBER and once; got {shown(each)}."
            raise InvalidTrace([Fault(place, FaultCode.WRONG_TYPE, detail)])
        given[name] = float(value)
        most, said = (1.0, "1") if name == "efficiency" else (_MOST, "10^7")
        if not _LEAST <= given[name] <= most:
            detail = f"Device: {name} must be 10^-6 to {said}, got {value}."
            raise InvalidTrace([Fault(place, FaultCode.OUT_OF_RANGE, detail)])
    own = DEVICES.get(head)
    if own is None and not {"tflops", "memory_gbs"} <= given.keys():
        detail = f"Device: a name ({one_of(DEVICES)}), or both tflops and memory_gbs."
        raise InvalidTrace([Fault(place, FaultCode.MISSING_FIELD, detail)])
    rate = given.get("tflops")
    source = "figures that were given"
    if own is not None:
        source = f"{own.source}, and {source}" if given else own.source
    usual = _EFFICIENCY if rate is None else 1.0
    efficiency = given.get("efficiency", usual)
    rates: tuple[tuple[str, float], ...]
    rates = (("", rate or 0.0),) if own is None or rate is not None else own.tflops
    exact = rate or 0.0 if own is None or rate is not None else own.exact_tflops
    memory = given["memory_gbs"] if own is None else given.get("memory_gbs", own.memory_gbs)
    return Device(text.strip(), rates, exact, memory, source, efficiency)
