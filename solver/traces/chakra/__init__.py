"""MLCommons Chakra ``.et`` files: a message a node, one file a rank."""

from solver.traces.chakra.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "looks_like", "read"]
