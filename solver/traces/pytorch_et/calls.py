"""The calls of an execution trace that communicate, each once, with their sizes.

Schema 1.0.1 puts a node's facts in the node, later ones (1.0.2-chakra.0.0.4 on) in ``attrs``, and
inputs in ``{"values", "shapes", "types"}``. A collective is there up to three times, one inside the
other: ``c10d::allreduce_``, ``record_param_comms``, ``nccl:all_reduce``.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeGuard

import msgspec

from solver.codes import FaultCode
from solver.element_types import width_of
from solver.errors import Fault, InvalidTrace
from solver.limits import MAX_BYTES
from solver.traces.cut_files import CutFile, decoded, is_truncation
from solver.traces.files import MARK
from solver.traces.kineto.communication_kernels import KINDS
from solver.traces.kineto.recording import RECORD
from solver.traces.steps import step_windows

#: What a library calls its own part of a collective.
LIBRARY = re.compile(r"(?:nccl|gloo|mpi|ucc|xccl|hccl):(\w+)")


_CALL = re.compile(r"c10d::(\w+)")


#: What a tensor is among inputs: id, storage, offset, elements, bytes of one, device.
_TENSOR = 6


class CommunicationCall(NamedTuple):
    """A call of the communication library.

    Attributes
    ----------
    id
        Of its node.
    function
        Record function id, which the profiler writes too; None when unknown.
    name
        As PyTorch has it; empty when unknown.
    kind
        Of the collective; None for a wait, a barrier, or what is not planned.
    bytes
        Of the whole tensor: the larger of what goes in and what comes out; 0 when unknown.
    is_record
        Whether it is a :data:`RECORD`.
    """

    id: int
    function: int | None
    name: str
    kind: str | None
    bytes: int
    is_record: bool


class _Attr(msgspec.Struct):
    name: str
    value: Any = None


class _EtNode(msgspec.Struct):
    id: int
    name: str
    parent: Any = None
    ctrl_deps: Any = None
    rf_id: Any = None
    inputs: msgspec.Raw = msgspec.Raw(b"[]")
    outputs: msgspec.Raw = msgspec.Raw(b"[]")
    attrs: list[_Attr] = []


class _NodesFile(msgspec.Struct):
    schema: str
    nodes: list[_EtNode]


_DECODER = msgspec.json.Decoder(_NodesFile)


class CallsFile(NamedTuple):
    """What an execution trace holds.

    Attributes
    ----------
    steps
        Ids of the nodes of each step: of a file that was cut off without the last, if it has more.
    calls
        In the order in which they began.
    cut
        How the file was cut off; None where it was not.
    """

    steps: list[range]
    calls: list[CommunicationCall]
    cut: CutFile | None


def calls_of(content: bytes) -> CallsFile:
    """Read the calls of an execution trace.

    Raises
    ------
    InvalidTrace
        When it is no execution trace.

    Notes
    -----
    O(bytes + nodes log nodes).
    """
    try:
        file, cut = decoded(content.removeprefix(MARK), _DECODER)
        nodes = sorted(file.nodes, key=lambda node: node.id)
        calls = [_call(node) for node in _launched(nodes)]
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        is_short = is_truncation(error)
        code = FaultCode.TRUNCATED if is_short else FaultCode.WRONG_FORMAT
        detail = f"Not a PyTorch execution trace: {error}."
        raise InvalidTrace([Fault("", code, detail)]) from None
    steps = step_windows((node.id, node.name) for node in nodes)
    return CallsFile(steps[:-1] or steps if cut else steps, calls, cut)


def _launched(nodes: Sequence[_EtNode]) -> Iterator[_EtNode]:
    """Yield each collective once: its record, or the library's node where that is in no record.

    The library's may run on a thread of its own (gloo), and then is not inside the call; calls
    count where there is neither.
    """
    inside = {node.id for node in nodes if node.name == RECORD}
    for node in nodes:
        parent = node.parent if isinstance(node.parent, int) else node.ctrl_deps
        if isinstance(parent, int) and parent in inside:
            inside.add(node.id)
    found = [n for n in nodes if n.name == RECORD or (_is_library(n) and n.id not in inside)]
    yield from found or (node for node in nodes if _CALL.fullmatch(node.name))


def _is_library(node: _EtNode) -> bool:
    return LIBRARY.fullmatch(node.name) is not None


def _call(node: _EtNode) -> CommunicationCall:
    attrs = {attr.name: attr.value for attr in node.attrs}
    inputs = _arguments(node.inputs)
    called = LIBRARY.fullmatch(node.name) or _CALL.fullmatch(node.name)
    name = called[1] if called else attrs.get("collective_name")
    if not isinstance(name, str):
        name = next((value for value in inputs if isinstance(value, str)), "")
    letters = re.sub("[^a-z]", "", name.lower())
    kind = next((kind for begin, kind in KINDS if letters.startswith(begin)), None)
    counts = [attrs.get("in_msg_nelems"), attrs.get("out_msg_nelems")]
    each = width_of(attrs.get("dtype")) or 0
    size = each * max((int(n) for n in counts if _is_whole(n)), default=0)
    if not 0 < size <= MAX_BYTES:
        size = max(map(_bytes, [*inputs, *_arguments(node.outputs)]), default=0)
    function = attrs.get("rf_id", node.rf_id)
    return CommunicationCall(
        id=node.id,
        function=function if isinstance(function, int) else None,
        name=name,
        kind=kind,
        bytes=size,
        is_record=node.name == RECORD,
    )


def _arguments(raw: msgspec.Raw) -> list[Any]:
    found = msgspec.json.decode(raw)
    values = found.get("values") if isinstance(found, dict) else found
    return values if isinstance(values, list) else []


def _bytes(value: Any) -> int:
    """Sum the bytes of the tensors in an argument, however deep they are in lists."""
    total = 0
    left = [value]
    for item in left:  # grows while it is read
        if not isinstance(item, list):
            continue
        if len(item) == _TENSOR and isinstance(item[-1], str):
            count, each = item[3:5]
            total += int(count) * int(each) if _is_whole(count) and _is_whole(each) else 0
        else:
            left += item
    return total if 0 <= total <= MAX_BYTES else 0


def _is_whole(value: Any) -> TypeGuard[float]:
    """Tell whether JSON has a whole number there, be it written with a point."""
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
