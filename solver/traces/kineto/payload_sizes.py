"""What a collective is and how many bytes it carries, in the dialects of the profiler.

PyTorch 2.2 and later write kind, elements, type and group on the kernel (``Collective name``,
``In msg nelems``, ``dtype``, ``Group size``) and on ``record_param_comms``; with
``record_shapes=True`` there are ``Input Dims`` and ``Input type`` of the annotation
``nccl:all_reduce`` and of the op around it, ``c10d::_allgather_base_``.
"""

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

from solver.element_types import width_of
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER
from solver.traces.chrome import json_of
from solver.traces.kineto.communication_kernels import kind_in
from solver.traces.kineto.events import Args, KinetoEvent
from solver.traces.kineto.groups import group_in
from solver.traces.kineto.recording import RecordedCollective

#: How a transfer between two ranks is called: ``send 0->1``, ``recv``, ``batch_isend_irecv``.
_STAGES = re.compile(r"(i?send|i?recv|recv_any_source|batch_isend_irecv)\b")
#: Lists in lists of the shape of an argument: tensors, lists of them, lists of those.
_DEPTH = 3
#: Kinds of which one side is a worker's share of the other.
_SHARED = {ALL_GATHER, REDUCE_SCATTER}


class _Tensors(NamedTuple):
    """An argument: elements of its tensors, and bytes of one where they are known."""

    elements: int
    width: int | None


def kind_of(collective: RecordedCollective) -> tuple[str, bool]:
    """Return a collective's kind in the model, and whether it is exactly that.

    Its family and its own names are asked first, then the op that was called, the kernel last:
    that may be generic, a send of an all-to-all, or what a library does it with (gloo sums for a
    reduce-scatter).
    """
    _, kernel, record, note, call, family = collective
    if family and family.kind:
        return family.kind, True
    called, noted = call and call.name, note and note.name
    return _kind_named(_collective(kernel), _collective(record), called, noted, kernel.name)


@lru_cache(maxsize=4_096)
def _kind_named(*names: str | None) -> tuple[str, bool]:
    """Return the kind that names tell, the surest first, the kernel's last."""
    for name in names:
        if kind := kind_in(name):
            return kind, True
    plain = re.sub(r"[^a-z]", "", (names[-1] or "").lower())
    return (ALL_TO_ALL if "sendrecv" in plain else BROADCAST), False


def is_between_stages(collective: RecordedCollective) -> bool:
    """Tell whether it is a send or a receipt of one rank alone, as between stages of a pipeline."""
    names = [_collective(collective.kernel), _collective(collective.record)]
    names += [collective.note.name] if collective.note else []
    return any(_STAGES.match((name or "").lower().removeprefix("nccl:")) for name in names)


def is_barrier(collective: RecordedCollective) -> bool:
    """Tell whether ranks only meet in it: the library may sum one element for that."""
    names = [_collective(collective.kernel), _collective(collective.record)]
    names += [event.name for event in (collective.note, collective.call) if event]
    return any("barrier" in (name or "").lower() for name in names)


def workers_of(collective: RecordedCollective, kind: str) -> int | None:
    """Return how many workers share a collective: as written, else whole by share; None unknown."""
    for event in (collective.kernel, collective.record):
        group = group_in(event.args if event else None)
        if event and event.args and event.args.workers:
            return event.args.workers
        if group and group.workers:
            return group.workers
    call = collective.call
    if kind not in _SHARED or call is None or call.args is None:
        return None
    if (call.name or "").startswith("_c10d_functional::"):
        values = _list(call.args.values)
        return next((int(v) for v in values if isinstance(v, str) and _is_count(v)), None)
    counts = [tensors.elements for tensors in _arguments(call) if tensors.elements]
    if len(counts) > 1 and max(counts) % min(counts) == 0:
        return max(counts) // min(counts)
    return None


def bytes_of(collective: RecordedCollective, kind: str, workers: int | None) -> int | None:
    """Return how many bytes a collective carries as the model counts them; None when unknown.

    The larger of what a rank sends and receives, which differ in an all-to-all of uneven pieces;
    those of an all-gather and of a reduce-scatter are the whole tensor's, ``workers`` times a
    worker's share.
    """
    for event in (collective.kernel, collective.record):
        size = _recorded(event.args, kind, workers) if event and event.args else None
        if size is not None:
            return size
    width = _any_width(collective)
    called = _arguments(collective.call)
    sizes = [t.elements * w for t in called if t.elements and (w := t.width or width)]
    noted = _arguments(collective.note)
    note = sum(t.elements * w for t in noted if (w := t.width or width))
    if kind == ALL_GATHER:
        if len(sizes) > 1:
            return max(sizes)
        share = note or sum(sizes)
        return share * workers if share and workers else None
    if kind == REDUCE_SCATTER:
        return max([note, *sizes]) or None
    if collective.family and kind == ALL_TO_ALL:
        return note or max(sizes, default=None)  # the tokens; their indices and weights are small
    # output and input, in this order
    first = sizes[1:2] if kind == ALL_TO_ALL and len(sizes) > 1 else sizes[:1]
    return note or sum(first) or None


def _recorded(args: Args, kind: str, workers: int | None) -> int | None:
    """Read what the profiler counted itself."""
    width = width_of(args.dtype)
    count, out = args.elements_in, args.elements_out or 0
    if not width or count is None or min(count, out) < 0:
        return None
    if kind == ALL_GATHER and count and out <= count:
        return count * workers * width if workers else None
    return max(count, out) * width


def contradicts(collective: RecordedCollective, kind: str) -> str:
    """Say how the counts of a collective contradict its kind; empty if they do not.

    What is summed is as large as its sum. Of an all-gather and a reduce-scatter one side is a
    worker's share of the other.
    """
    if kind not in {ALL_REDUCE, *_SHARED}:
        return ""
    args = next(
        (
            event.args
            for event in (collective.kernel, collective.record)
            if event and event.args and (event.args.workers or kind == ALL_REDUCE)
        ),
        None,
    )
    if args is None or not args.elements_in or not args.elements_out:
        return ""
    counts = args.elements_in, args.elements_out
    share, whole = counts if kind == ALL_GATHER else counts[::-1]
    workers = args.workers or 1
    if share == whole or (kind != ALL_REDUCE and whole == share * workers):
        return ""  # some write the share, or the whole, twice
    rule = "itself" if kind == ALL_REDUCE else f"a group of {workers}"
    return (
        f"{article(kind)} {kind} of {counts[0]:,} elements in and {counts[1]:,} out contradicts "
        f"{rule}; the larger count is taken"
    )


def article(kind: str) -> str:
    """Return what English puts before a kind: an all-gather, a broadcast."""
    return "an" if kind.startswith("a") else "a"


def _collective(event: KinetoEvent | None) -> str | None:
    return event.args.collective if event and event.args else None


def _is_count(value: str) -> bool:
    return value.isdecimal() and 0 < len(value) <= len("1000000") and int(value) > 0


def _any_width(collective: RecordedCollective) -> int | None:
    """Return the bytes of an element where any event of a collective says it."""
    events = (collective.note, collective.call, collective.record)
    known = (tensors.width for event in events for tensors in _arguments(event))
    written = (width_of(event.args.dtype) for event in events if event and event.args)
    return next((width for width in (*known, *written) if width), None)


def _list(raw: Any) -> list[Any]:
    value = json_of(raw)
    return value if isinstance(value, list) else []


def _arguments(event: KinetoEvent | None) -> list[_Tensors]:
    """Return the arguments that are tensors, by ``Input Dims`` and ``Input type``, in order."""
    if event is None or event.args is None:
        return []
    result = []
    for shape, dtype in zip(_list(event.args.dims), _list(event.args.types), strict=False):
        width = width_of(dtype)
        is_list = dtype == "TensorList" and shape != []
        count = _elements(shape) if width or is_list else None
        if count is not None:
            result.append(_Tensors(count, width))
    return result


def _elements(shape: Any, depth: int = _DEPTH) -> int | None:
    """Count the elements of a tensor or of a list of tensors; None when it is neither."""
    if not isinstance(shape, list) or not depth:
        return None
    if all(type(n) is int and n >= 0 for n in shape):
        return math.prod(shape)
    counts = [_elements(one, depth - 1) for one in shape]
    return None if None in counts else sum(count or 0 for count in counts)


def is_sized(collective: RecordedCollective) -> bool:
    """Tell whether any event of a collective says how large its tensors are."""
    kind, _ = kind_of(collective)
    return bytes_of(collective, kind, 1) is not None


def elements_called(event: KinetoEvent) -> set[int]:
    """Return the elements of each argument of an op that is a tensor."""
    return {tensors.elements for tensors in _arguments(event) if tensors.elements}
