"""The events of a Chrome trace as the PyTorch profiler writes it: only the fields that are read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from solver.errors import InvalidTrace
from solver.traces.chrome import ChromeEvent, ChromeFile, decode, late
from solver.traces.cut_files import CutFile

if TYPE_CHECKING:
    from solver.traces.kineto.known_works import KnownWorks

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


class KinetoFile(NamedTuple):
    """What one file holds.

    Attributes
    ----------
    events
        The complete ones (``"ph": "X"``) with a name and a time, in the file's order.
    job
        What it says of its job.
    cut
        How it was cut off; None where it was not.
    unplaced
        How many kernels are not among the events, since they lack a name or a time.
    known
        Kernels that are not among the events, since their times are known without.
    """

    events: list[KinetoEvent]
    job: Distributed
    cut: CutFile | None
    unplaced: int = 0
    known: "KnownWorks | None" = None


def parse(content: bytes, place: str) -> KinetoFile:
    """Read one file, to which ``place`` is the pointer.

    Raises
    ------
    InvalidTrace
        When the file is empty, cut off before its first event, no JSON, or no Chrome trace, or a
        time is out of range.

    Notes
    -----
    O(bytes). Integers of any length are read: profilers write hashes beyond 2^63.
    """
    file, cut = decode(content, place, _DECODER)
    job = Distributed()
    if isinstance(file, _KinetoFile):
        events, head = file.trace_events, f"{place}/traceEvents"
        job = file.distributed_info or job
    else:
        events, head = file, place
    return file_of(events, job, head, None if cut and cut.is_list_alone else cut)


def file_of(
    events: Sequence[KinetoEvent],
    job: Distributed,
    place: str,
    cut: CutFile | None = None,
    known: "KnownWorks | None" = None,
) -> KinetoFile:
    """Return what a file holds, given its events, to which ``place`` is the pointer.

    Raises
    ------
    InvalidTrace
        When a time is out of range.
    """
    for fault in late(events, place):
        raise InvalidTrace([fault])
    whole: list[KinetoEvent] = []
    unplaced = 0
    same: dict[str | None, str | None] = {}
    for event in events:
        if event.ph != "X":
            continue
        if event.name is None or event.ts is None:
            unplaced += event.cat == "kernel"
            continue
        event.ph = "X"  # a file has few words, each often: one copy of each is kept
        event.cat = same.setdefault(event.cat, event.cat)
        event.name = same.setdefault(event.name, event.name)
        whole.append(event)
    return KinetoFile(whole, job, cut, unplaced, known)
