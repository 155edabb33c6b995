"""What a collective is and how many bytes it carries, in the dialects of the profiler.

PyTorch 2.2 and later write kind, elements and type on the kernel (``Collective name``,
``In msg nelems``, ``dtype``) and on ``record_param_comms``; with ``record_shapes=True`` older ones
write ``Input Dims`` and ``Input type`` on the annotation ``nccl:all_reduce``.
"""

import math
import re
from typing import Any

from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.traces.kineto.events import Event, json_of
from solver.traces.kineto.recording import Collective

#: Kinds by what their names hold, without underscores; the first that fits.
_KINDS = (
    ("allreduce", ALL_REDUCE),
    ("reducescatter", REDUCE_SCATTER),
    ("allgather", ALL_GATHER),
    ("alltoall", ALL_TO_ALL),
    ("broadcast", BROADCAST),
)
#: How a transfer between two ranks is called: ``send 0->1``, ``recv``, ``batch_isend_irecv``.
_STAGES = re.compile(r"(i?send|i?recv|recv_any_source|batch_isend_irecv)\b")
_BYTES = {
    1: "byte char bool unsignedchar signedchar uint8 int8 float8e4m3fn float8e5m2",
    2: "half bfloat16 short shortint int16 float16 uint16",
    4: "float int float32 int32 uint32",
    8: "double long longint float64 int64 uint64 complexfloat",
    16: "complexdouble",
}
_SIZE = {name: size for size, names in _BYTES.items() for name in names.split()}


def kind_of(collective: Collective) -> tuple[str, bool]:
    """Return a collective's kind in the model, and whether it is exactly that.

    Its own names are asked first, the kernel's last: that may be generic, or a send of an
    all-to-all.
    """
    names = [_collective(collective.kernel), _collective(collective.record)]
    names += [event.name for event in (collective.note, collective.kernel) if event]
    for name in names:
        plain = re.sub(r"[^a-z]", "", (name or "").lower())
        for part, kind in _KINDS:
            if part in plain:
                return kind, True
    plain = re.sub(r"[^a-z]", "", (names[-1] or "").lower())
    return (ALL_TO_ALL if "sendrecv" in plain else BROADCAST), False


def is_between_stages(collective: Collective) -> bool:
    """Tell whether it is a send or a receipt of one rank alone, as between stages of a pipeline."""
    names = [_collective(collective.kernel), _collective(collective.record)]
    names += [collective.note.name] if collective.note else []
    return any(_STAGES.match((name or "").lower().removeprefix("nccl:")) for name in names)


def bytes_of(collective: Collective, kind: str, workers: int | None) -> int | None:
    """Return how many bytes a collective carries as the model counts them; None when unknown.

    The larger of what a rank sends and receives, which differ in an all-to-all of uneven pieces;
    an all-gather's are those of the whole tensor, ``workers`` times a worker's own.
    """
    for event in (collective.kernel, collective.record):
        args = event.args if event else None
        width = _width(args.dtype) if args else None
        if args and width and args.elements_in is not None:
            sent = args.elements_in * (args.workers or 1 if kind == ALL_GATHER else 1)
            return max(sent, args.elements_out or 0) * width
    note = collective.note
    size = (
        _of_shapes(json_of(note.args.dims), json_of(note.args.types)) if note and note.args else 0
    )
    if size and kind == ALL_GATHER:
        return size * workers if workers else None
    return size or None


def _collective(event: Event | None) -> str | None:
    return event.args.collective if event and event.args else None


def _width(dtype: Any) -> int | None:
    """Return the bytes of one element: ``c10::Half``, ``long int``, ``Float``."""
    if not isinstance(dtype, str):
        return None
    return _SIZE.get(re.sub(r"[^a-z0-9]", "", dtype.lower().removeprefix("c10::")))


def _of_shapes(dims: Any, types: Any) -> int:
    """Add up the bytes of tensors given by ``Input Dims`` and ``Input type``; 0 when unknown."""
    if not isinstance(dims, list) or not isinstance(types, list):
        return 0
    total = 0
    for shape, dtype in zip(dims, types, strict=False):
        width = _width(dtype)
        if width and isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape):
            total += width * math.prod(shape)
    return total
