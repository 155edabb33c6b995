"""Kernels as SimuMax's system files have them: shares of a GPU's rate by size.

A file has, for each kind of kernel, ``accurate_efficient_factor``: the shares that sizes reached on
the machine, by a text of names and numbers. Multiplications are named as they are launched, so that
the layout tells what is computed: ``TN`` outputs, ``NN`` gradients of inputs, ``NT`` gradients of
weights. Attention's operations are counted without a mask, and with the widths of queries and of
values apart; here the mask leaves half, and both are as wide as values.

References
----------
.. [1] Moore Threads, SimuMax, ``configs/system``, Apache-2.0.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.shapes.kernels import (
    GRADIENTS,
    INPUT_GRADIENTS,
    OUTPUTS,
    WEIGHT_GRADIENTS,
    MeasuredAttention,
    MeasuredKernels,
    MeasuredMatmul,
)

_PLACE = "/accelerator/op"

_Kernel = TypeVar("_Kernel")

#: What a multiplication computes by its layout, with its names of tokens, inputs and outputs.
_LAYOUTS: Final = {
    "TN": (OUTPUTS, "m", "k", "n"),
    "NN": (INPUT_GRADIENTS, "m", "n", "k"),
    "NT": (WEIGHT_GRADIENTS, "k", "n", "m"),
}
_STAGES: Final = {
    "fwd": OUTPUTS,
    "bwd_grad_act": INPUT_GRADIENTS,
    "bwd_grad_w": WEIGHT_GRADIENTS,
}


def is_system(found: Any) -> bool:
    """Tell whether a JSON value is a system file of SimuMax."""
    return isinstance(found, Mapping) and isinstance(found.get("accelerator"), Mapping)


def kernels_of(system: Mapping[str, Any]) -> MeasuredKernels:
    """Return the kernels of a system file.

    Raises
    ------
    InvalidMeasurements
        It has none, or sizes and shares that are not understood.
    """
    kinds = system["accelerator"].get("op")
    if not isinstance(kinds, Mapping):
        kinds = {}
    faults: list[Fault] = []
    matmuls = [
        *_read(kinds, "matmul", _matmul, faults),
        *_read(kinds, "group_matmul", _grouped, faults),
    ]
    attention = [
        *_read(kinds, "sdp_fwd", _attention(OUTPUTS), faults),
        *_read(kinds, "sdp_bwd", _attention(GRADIENTS), faults),
    ]
    if not matmuls and not faults:
        detail = "System file: matmul has no accurate_efficient_factor: no size is measured."
        faults.append(Fault(f"{_PLACE}/matmul", FaultCode.MISSING_FIELD, detail))
    if faults:
        raise InvalidMeasurements(faults)
    return MeasuredKernels(tuple(matmuls), tuple(attention))


def _read(
    kinds: Mapping[str, Any],
    kind: str,
    kernel: Callable[[Mapping[str, str], float], _Kernel],
    faults: list[Fault],
) -> Iterator[_Kernel]:
    """Yield the kernels of a kind, and note what is not understood."""
    of_kind = kinds.get(kind)
    shares = of_kind.get("accurate_efficient_factor") if isinstance(of_kind, Mapping) else None
    for text, share in (shares or {}).items():
        named = dict(re.findall(r"(\w+)=(\w+)", text))
        try:
            yield kernel(named, float(share))
        except (KeyError, TypeError, ValueError):
            detail = f"System file: {kind} has a size that is not understood: {text} = {share!r}."
            faults.append(Fault(f"{_PLACE}/{kind}", FaultCode.OUT_OF_RANGE, detail))


def _matmul(named: Mapping[str, str], share: float) -> MeasuredMatmul:
    computes, tokens, inputs, outputs = _LAYOUTS[named["layout"]]
    return MeasuredMatmul(
        computes,
        int(named[tokens]),
        int(named[inputs]),
        int(named[outputs]),
        share,
        int(named["b"]),
    )


def _grouped(named: Mapping[str, str], share: float) -> MeasuredMatmul:
    tokens, inputs, outputs = int(named["M"]), int(named["K"]), int(named["N"])
    return MeasuredMatmul(_STAGES[named["stage"]], tokens, inputs, outputs, share, int(named["ng"]))


def _attention(computes: str) -> Callable[[Mapping[str, str], float], MeasuredAttention]:
    def kernel(named: Mapping[str, str], share: float) -> MeasuredAttention:
        batch, values = int(named["batch"]), int(named["v_head_dim"])
        counted = int(named["qk_head_dim"]) + values
        return MeasuredAttention(
            computes,
            int(named["seq_len"]),
            batch * int(named["head_num"]),
            batch * int(named["kv_head_num"]),
            share * values / counted,  # 4 v of 2 (q + v) operations a pair, and half of the pairs
        )

    return kernel
