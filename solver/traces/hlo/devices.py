"""Devices by name, for times of compute that nobody measured: a roofline."""

import re
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.wording import meant, one_of, shown

#: Least and most of a figure that is taken: the most is a thousand times the fastest device's.
_LEAST, _MOST = 1e-6, 1e7
_FIGURE = re.compile(r"\d{1,9}(?:\.\d{1,9})?(?:e[+-]?\d{1,2})?")


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
    """

    name: str
    tflops: tuple[tuple[str, float], ...]
    exact_tflops: float
    memory_gbs: float
    source: str

    def rate(self, kind: str, *, exact: bool = False) -> float:
        """Return the operations a microsecond of products of a type; of an unknown one the least.

        All types of 8 bits are ``f8``.
        """
        known = dict(self.tflops)
        if exact and kind == "f32":
            return self.exact_tflops * 1e6
        kind = "f8" if kind.startswith("f8") else kind
        return known.get(kind, min(known.values())) * 1e6


def _gpu(
    name: str, f8: float, f16: float, tf32: float, f32: float, f64: float, memory: float, said: str
) -> Device:
    rates = {"f8": f8, "s8": f8, "u8": f8, "f16": f16, "bf16": f16, "f32": tf32, "f64": f64}
    return Device(name, tuple(rates.items()), f32, memory, said)


def _tpu(name: str, bf16: float, s8: float, memory: float, said: str) -> Device:
    # products of f32 are of one pass in bf16 by default, of six at the highest precision
    rates = {"f8": bf16, "s8": s8, "u8": s8, "f16": bf16, "bf16": bf16, "f32": bf16}
    return Device(name, tuple(rates.items()), bf16 / 6, memory, said)


#: The devices, by the name that is asked for; figures are dense, not of sparse products.
DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        _gpu("a100", 624, 312, 156, 19.5, 19.5, 2039, "NVIDIA's data sheet of the A100 80GB SXM"),
        _gpu("h100", 1979, 989, 494, 67, 67, 3350, "NVIDIA's data sheet of the H100 SXM"),
        _gpu("h200", 1979, 989, 494, 67, 67, 4800, "NVIDIA's data sheet of the H200 SXM"),
        _tpu("tpu-v5e", 197, 393, 819, "Google Cloud's page of TPU v5e"),
        _tpu("tpu-v6e", 918, 1836, 1638, "Google Cloud's page of TPU v6e"),
    )
}


def device_of(text: str, place: str = "/query/device") -> Device:
    """Read a device: a name, ``tflops=400,memory_gbs=2000``, or a name with figures of one's own.

    ``h100:tflops=600`` is a name with figures: those given take the place of its own, ``tflops`` of
    all types.

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
        if name not in ("tflops", "memory_gbs") or name in given or not _FIGURE.fullmatch(value):
            detail = f"Device: tflops=NUMBER and memory_gbs=NUMBER, each once; got {shown(each)}."
            raise InvalidTrace([Fault(place, FaultCode.WRONG_TYPE, detail)])
        given[name] = float(value)
        if not _LEAST <= given[name] <= _MOST:
            detail = f"Device: {name} must be 10^-6 to 10^7, got {value}."
            raise InvalidTrace([Fault(place, FaultCode.OUT_OF_RANGE, detail)])
    own = DEVICES.get(head)
    if own is None and len(given) < 2:  # noqa: PLR2004 - both figures
        detail = f"Device: a name ({one_of(DEVICES)}), or both tflops and memory_gbs."
        raise InvalidTrace([Fault(place, FaultCode.MISSING_FIELD, detail)])
    given_said = "figures that were given"
    if own is None:
        peak = given["tflops"]
        return Device(text.strip(), (("", peak),), peak, given["memory_gbs"], given_said)
    rate = given.get("tflops")
    return Device(
        text.strip(),
        own.tflops if rate is None else (("", rate),),
        own.exact_tflops if rate is None else rate,
        given.get("memory_gbs", own.memory_gbs),
        f"{own.source}, and {given_said}" if given else own.source,
    )
