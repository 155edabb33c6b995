"""What durations of a file's collectives tell: of launches, not of the calls that ask for them.

A profiler's file has a node for the call on the CPU and one for the kernel. A call ends when the
launch is enqueued, so its duration is no time of a network.
"""

from collections.abc import Iterable, Iterator, Sequence

from solver.traces.chakra.codec import COMM_TYPES
from solver.traces.chakra.nodes import ChakraNode
from solver.traces.exit_check import is_kernel
from solver.traces.samples import samples_of
from solver.traces.sentences import counted
from solver.traces.trace import Sample, TraceChannel

#: How the names of PyTorch's calls begin.
_CALL = "c10d::"


def tells_time(node: ChakraNode) -> bool:
    """Tell whether the duration of a collective is that of its launch."""
    is_call = node.name.startswith(_CALL) or is_kernel(node.name)
    return node.us > 0 and not (node.on_cpu and is_call)


def channels_of(sent: Iterable[ChakraNode]) -> tuple[TraceChannel, ...]:
    """Return the channels of collectives; the files do not say how many workers share them."""
    names = dict.fromkeys(node.channel for node in sent)
    return tuple(TraceChannel(name, None, "no group is written") for name in names)


def timed_samples(sent: Iterable[ChakraNode]) -> Iterator[Sample]:
    """Yield the collectives that have a duration of their own."""
    for node in sent:
        if tells_time(node):
            yield from samples_of(node.channel, COMM_TYPES[node.comm_type], node.bytes, [node.us])


def only_called(nodes: Iterable[ChakraNode], sent: Iterable[ChakraNode]) -> Iterator[str]:
    """Name the collectives of libraries of GPUs, where all that the file times is on the CPU."""
    if all(node.on_cpu for node in nodes if node.us):
        yield from (node.name for node in sent if node.us and is_kernel(node.name))


def untimed_said(sent: Sequence[ChakraNode]) -> Iterator[str]:
    """Say of how many collectives the file does not tell what they cost."""
    untimed = sum(not tells_time(node) for node in sent)
    if untimed == len(sent):
        yield "No collective has a duration of its own: the file does not tell what launches cost."
    elif untimed:
        have = counted(untimed, "collective has", "collectives have")
        yield f"{have} no duration of its own: launches cost what the others took."
