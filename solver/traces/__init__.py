"""Readers of other tools' files, called alike: ``read(files, asked) -> Trace``."""

from solver.traces import pipedream
from solver.traces.trace import Asked, Reader, Report, Total, Trace

#: The readers by format name; add one here.
READERS: dict[str, Reader] = {"pipedream": pipedream.read}

__all__ = ["READERS", "Asked", "Reader", "Report", "Total", "Trace"]
