"""MLCommons Chakra ``.et`` files: a message a node, one file a rank."""

from solver.traces.chakra.reader import FORMAT, looks_like, read
from solver.traces.formats import TraceFormat

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "read"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="MLCommons Chakra's `.et`: one rank",
    versions="protobuf schema `ChakraProtoMsg`, with a message of metadata first or without",
    reads="compute and collectives off the CPU, `data_deps`; costs from durations of collectives",
    assumes="order by launches where nothing else joins compute and collectives; costs, and says "
    "so first, where collectives have no durations",
    refuses="cycles, broken messages, more than 1,000,000 nodes",
    looks_like=looks_like,
    read=read,
    counted="messages",
)
