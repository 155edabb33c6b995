"""Readers of other tools' files, called alike: ``read(files, options) -> Trace``.

They are imported when they are first asked for: what a trace is, many know who read none.
"""

from typing import TYPE_CHECKING, Any

from solver.traces.report import Report, Total
from solver.traces.trace import Reader, Sample, Trace, TraceChannel, TraceOptions

if TYPE_CHECKING:
    from solver.traces.readers import FORMATS, READERS, detect, read_trace

__all__ = [
    "FORMATS",
    "READERS",
    "Reader",
    "Report",
    "Sample",
    "Total",
    "Trace",
    "TraceChannel",
    "TraceOptions",
    "detect",
    "read_trace",
]


def __getattr__(name: str) -> Any:
    """Import the readers."""
    if name not in {"FORMATS", "READERS", "detect", "read_trace"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from solver.traces import readers  # noqa: PLC0415

    return getattr(readers, name)
