"""Readers of other tools' files, called alike: ``read(text, name) -> Trace``."""

from collections.abc import Callable

from solver.traces import pipedream
from solver.traces.trace import Report, Trace

#: The readers by format name; add one here.
READERS: dict[str, Callable[[str, str], Trace]] = {"pipedream": pipedream.read}

__all__ = ["READERS", "Report", "Trace"]
