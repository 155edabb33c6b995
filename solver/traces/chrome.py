"""Chrome's trace format, as profilers write it: decoded, or refused in the file's own words.

A reader gives its decoder: of a list of its events, or of a file of them. Its events are a
:class:`ChromeEvent` with the ``args`` that it reads, and ``Any`` for the fields that it does not:
these are not checked.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import msgspec

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces.cut_files import CutFile, decoded, is_truncation
from solver.traces.files import MARK, SEEN, beginning

T = TypeVar("T")
E = TypeVar("E", bound="ChromeEvent")

#: Latest time [us] that is taken for one: beyond it a microsecond is lost in a float.
LATEST_US = 2.0**53
#: So much of a list is decoded at a time [bytes].
_PIECE = 2**22
#: Where msgspec says that a value is wrong: an event and its field.
_PLACE = re.compile(r"\$((?:\.\w+)?)\[(\d+)\]((?:\.[^`]+)?)`$")
_FORM = "Chrome trace: an object with traceEvents, or a list of events"


class ChromeEvent(msgspec.Struct, gc=False):
    """One event; times are microseconds, ``args`` is what is written beside it."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float | None = None
    dur: float | None = None
    args: Any = None

    @property
    def start(self) -> float:
        """When it began [us]."""
        return self.ts or 0.0

    @property
    def end(self) -> float:
        """When it ended [us]."""
        return (self.ts or 0.0) + max(self.dur or 0.0, 0.0)


class ChromeFile(msgspec.Struct, Generic[E], rename="camel"):
    """A file that is an object with its events."""

    trace_events: list[E]


def decode(
    content: bytes, place: str, decoder: msgspec.json.Decoder[T], form: str = _FORM
) -> tuple[T, CutFile | None]:
    """Decode a trace up to its last whole event, and tell how it was cut off, if it was.

    Parameters
    ----------
    content
        The file.
    place
        The pointer to the file.
    decoder
        Of a list of events, or of an object with one.
    form
        What the file should be, where it is something else.

    Raises
    ------
    InvalidTrace
        When the file is empty, cut off before its first event, no JSON, or not what the decoder
        takes.

    Notes
    -----
    O(bytes).
    """
    content = content.removeprefix(MARK)
    if not content.strip():
        raise InvalidTrace([Fault(place, FaultCode.EMPTY, "The file is empty.")])
    try:
        return decoded(content, decoder)
    except msgspec.ValidationError as error:
        raise InvalidTrace([_misfit(str(error), place, form)]) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        is_short = is_truncation(error)
        detail = "The JSON ends too early: the file was cut off before the end of its first event."
        detail = detail if is_short else f"No JSON: {error}"
        code = FaultCode.TRUNCATED if is_short else FaultCode.WRONG_FORMAT
        raise InvalidTrace([Fault(place, code, detail)]) from None
    except RecursionError:
        raise InvalidTrace(
            [Fault(place, FaultCode.TOO_DEEP, "The JSON is nested too deeply.")]
        ) from None


def decode_each(
    content: bytes, place: str, decoder: msgspec.json.Decoder[list[E]]
) -> Generator[E, None, CutFile | None]:
    """Yield the events of a list as :func:`decode` has them, and return how it was cut off.

    They are decoded piece by piece. A piece ends where an event may end: if what is before is
    whole, it does. Where it is not, everything is decoded at once, and the rest yielded.

    Raises
    ------
    InvalidTrace
        As there, after the events before.

    Notes
    -----
    O(bytes), and memory for the events of one piece.
    """
    content = content.removeprefix(MARK)
    is_list = beginning(content).startswith(b"[")
    at, count = content.find(b"[") + 1, 0
    wrong = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
    with suppress(*wrong):
        while is_list and at + _PIECE < len(content):
            end = content.rfind(b"},", at, at + _PIECE) + 1
            if end <= at:  # an event is longer than a piece
                break
            events = decoder.decode(b"[%b]" % content[at:end])
            yield from events
            at, count = end + 1, count + len(events)
        if count and content[at : at + SEEN].lstrip().startswith(b"{"):
            events, cut = decoded(b"[" + content[at:], decoder)
            yield from events
            return cut and cut._replace(events=cut.events + count)
    events, cut = decode(content, place, decoder)
    yield from events[count:]
    return cut


def late(events: Sequence[ChromeEvent], place: str) -> Iterator[Fault]:
    """Find the complete events of which a time cannot be counted; ``place`` points to them all."""
    for i, event in enumerate(events):
        if event.ph != "X":
            continue
        if not (-LATEST_US <= (event.ts or 0.0) <= LATEST_US >= (event.dur or 0.0) >= -LATEST_US):
            detail = f"Event {i}: ts and dur must be at most 2^53 us."
            yield Fault(f"{place}/{i}", FaultCode.OUT_OF_RANGE, detail)


def last_start(events: Sequence[ChromeEvent]) -> float | None:
    """Return when the last complete event of a file began [us]; None where there is none."""
    return next((e.start for e in reversed(events) if e.ph == "X" and e.ts is not None), None)


def _misfit(message: str, place: str, form: str) -> Fault:
    """Turn msgspec's sentence about a value into a fault with its pointer."""
    where = _PLACE.search(message)
    if where is None:
        return Fault(place, FaultCode.WRONG_FORMAT, f"No {form} ({message}).")
    pointer = f"{place}{where[1]}/{where[2]}{where[3]}".replace(".", "/")
    return Fault(pointer, FaultCode.WRONG_FORMAT, f"{message}.")


def json_of(raw: msgspec.Raw) -> Any:
    """Read a value that was left as text; None when it is none that can be read."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
