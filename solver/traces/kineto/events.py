"""The events of a Chrome trace as the PyTorch profiler writes it: only the fields that are read."""

from typing import Any

import msgspec

from solver.errors import InvalidTrace
from solver.traces.chrome import ChromeEvent, ChromeFile, decode, late

_NOTHING = msgspec.Raw(b"null")


class Args(msgspec.Struct, gc=False):
    """What is written beside an event."""

    correlation: int | None = None
    sequence: int | None = msgspec.field(default=None, name="Sequence number")
    forward_thread: int | None = msgspec.field(default=None, name="Fwd thread id")
    collective: str | None = msgspec.field(default=None, name="Collective name")
    elements_in: int | None = msgspec.field(default=None, name="In msg nelems")
    elements_out: int | None = msgspec.field(default=None, name="Out msg nelems")
    workers: int | None = msgspec.field(default=None, name="Group size")
    group_name: Any = msgspec.field(default=None, name="Process Group Name")
    group_description: Any = msgspec.field(default=None, name="Process Group Description")
    group_ranks: Any = msgspec.field(default=None, name="Process Group Ranks")
    dtype: str | None = None
    dims: msgspec.Raw = msgspec.field(default=_NOTHING, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=_NOTHING, name="Input type")
    values: msgspec.Raw = msgspec.field(default=_NOTHING, name="Concrete Inputs")


class KinetoEvent(ChromeEvent):
    """One event."""

    args: Args | None = None


class Distributed(msgspec.Struct):
    """What the file says of the job.

    Attributes
    ----------
    world_size
        Its ranks.
    rank
        That of the file.
    pg_config
        Its process groups, as they were written.
    """

    world_size: int | None = None
    rank: int | None = None
    pg_config: Any = None


class _KinetoFile(ChromeFile[KinetoEvent]):
    distributed_info: Distributed | None = None


_DECODER: msgspec.json.Decoder[_KinetoFile | list[KinetoEvent]] = msgspec.json.Decoder(
    _KinetoFile | list[KinetoEvent]
)


def parse(content: bytes, place: str) -> tuple[list[KinetoEvent], Distributed]:
    """Return the complete events (``"ph": "X"``) of one file, and what it says of its job.

    Events with a name and a time are returned, in the file's order. ``place`` is the pointer to
    the file.

    Raises
    ------
    InvalidTrace
        When the file is empty, cut off, no JSON, or no Chrome trace, or a time is out of range.

    Notes
    -----
    O(bytes). Integers of any length are read: profilers write hashes beyond 2^63.
    """
    decoded, _ = decode(content, place, _DECODER)
    job = Distributed()
    if isinstance(decoded, _KinetoFile):
        events, head = decoded.trace_events, f"{place}/traceEvents"
        job = decoded.distributed_info or job
    else:
        events, head = decoded, place
    for fault in late(events, head):
        raise InvalidTrace([fault])
    whole = [e for e in events if e.ph == "X" and e.name is not None and e.ts is not None]
    return whole, job
