"""Files that end too early, as those of a rank that was killed: read to their last whole event.

A file is cut off when all that it has is right and its end is missing. Whatever is wrong before its
end stays an error.
"""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

T = TypeVar("T")

#: So much is looked at at a time [bytes].
_PIECE = 2**22
#: What every bracket adds to the depth, by its code.
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[[ord("{"), ord("[")]], _STEPS[[ord("}"), ord("]")]] = 1, -1

#: What is added where no step is there as a whole.
_NO_WHOLE_STEP = "No step of it is whole: what is read is what the file has of one."


class CutFile(NamedTuple):
    """What is left of a file that was cut off.

    Attributes
    ----------
    content
        Its whole events, with the end that they need.
    events
        How many these are.
    left_out
        What came after the last of them [bytes].
    unit
        What the format calls an event.
    """

    content: bytes
    events: int
    left_out: int
    unit: str = "event"

    @property
    def is_list_alone(self) -> bool:
        """Whether nothing but the end of a list of events is missing, as Chrome's format allows."""
        return not self.left_out and self.content.endswith(b"]")

    @property
    def said(self) -> str:
        """Where the file ends, in a sentence."""
        what = "byte" if self.left_out == 1 else "bytes"
        rest = f"; the {self.left_out:,} {what} after it are left out" if self.left_out else ""
        return f"The file was cut off after {self.unit} {self.events:,}{rest}."


def decoded(content: bytes, decoder: msgspec.json.Decoder[T]) -> tuple[T, CutFile | None]:
    """Decode JSON; of a file that was cut off what is whole, and how it was cut.

    Raises
    ------
    msgspec.DecodeError
        When it is no JSON, not what the decoder takes, or was cut off before its first event.

    Notes
    -----
    O(bytes).
    """
    try:
        return decoder.decode(content), None
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        cut = cut_json(content) if is_truncation(error) else None
        if cut is None:
            raise
        try:
            return decoder.decode(cut.content), cut
        except msgspec.DecodeError:  # what has to be there comes after the cut
            raise error from None


def is_truncation(error: Exception) -> bool:
    """Tell whether all that msgspec read was JSON, and its end is missing."""
    return isinstance(error, msgspec.DecodeError) and "truncated" in str(error)


def cut_json(content: bytes) -> CutFile | None:
    """Return a list of events, or an object of lists, up to the last that is whole; None of none.

    Parameters
    ----------
    content
        The beginning of JSON, without a fault.

    Notes
    -----
    O(bytes).
    """
    scan = _Scan(1 if content.lstrip()[:1] == b"[" else 2)
    at = 0
    while at < len(content):
        piece = content[at : at + _PIECE]
        while piece.endswith(b"\\") and at + len(piece) < len(content):  # an escape stays whole
            piece = content[at : at + len(piece) + 1]
        scan.take(piece, at)
        at += len(piece)
    if scan.level == 1:
        end, events, closing = scan.event_end, scan.events, b"]"
    elif scan.is_in_list and scan.events:
        end, events, closing = scan.event_end, scan.events, b"]}"
    else:
        end, events, closing = scan.list_end, scan.listed, b"}"
    if not end:
        return None
    left_out = len(content[end:].strip(b" \t\r\n,"))
    return CutFile(content[:end] + closing, events, left_out)


class _Scan:
    """Where events end, told by how deep brackets are that are in no string."""

    def __init__(self, level: int) -> None:
        #: How deep a list of events is: 1 where it is all of the file, 2 in an object.
        self.level = level
        #: Ends of the last event and of the last list in the object, and how many events the
        #: list at the end of the file and the last whole one have.
        self.event_end, self.list_end, self.events, self.listed = 0, 0, 0, 0
        self.is_in_list = False
        self._depth, self._parity = 0, 0

    def take(self, piece: bytes, at: int) -> None:
        """Take the next piece, which is there in the file."""
        plain = piece.replace(b"\\\\", b"..").replace(b'\\"', b"..") if b"\\" in piece else piece
        codes = np.frombuffer(plain, np.uint8)
        in_string = np.bitwise_xor.accumulate((codes == ord('"')).view(np.uint8)) ^ self._parity
        self._parity = int(in_string[-1])
        places = np.flatnonzero((_STEPS[codes] != 0) & (in_string == 0))
        if not places.size:
            return
        steps = _STEPS[codes[places]]
        depths = self._depth + np.cumsum(steps, dtype=np.int64)
        self._depth = int(depths[-1])
        ends = (steps < 0) & (depths == self.level)
        if last := _last(ends):
            self.event_end = at + int(places[last - 1]) + 1
        if self.level == 1:
            self.events += int(np.count_nonzero(ends))
            return
        begins = (steps > 0) & (depths == self.level)
        closed = _last((steps < 0) & (depths == self.level - 1))
        if closed:
            self.list_end = at + int(places[closed - 1]) + 1
            begun = _last(begins[:closed])
            before = 0 if begun else self.events
            self.listed = before + int(np.count_nonzero(ends[begun:closed]))
        if begun := _last(begins):
            self.is_in_list = begun > closed and plain[places[begun - 1]] == ord("[")
        elif closed:
            self.is_in_list = False
        before = 0 if begun else self.events
        self.events = before + int(np.count_nonzero(ends[begun:]))


def _last(marks: npt.NDArray[np.bool_]) -> int:
    """Return how many there are up to the last that is true; 0 where none is."""
    found = np.flatnonzero(marks)
    return int(found[-1]) + 1 if found.size else 0


def whole_steps(
    steps: Sequence[T], ends: Sequence[float], cut: CutFile, until: float | None
) -> tuple[list[T], list[str]]:
    """Return the steps that a file which was cut off has as a whole, and what is to be said.

    Parameters
    ----------
    steps
        By start.
    ends
        When each was over [us].
    cut
        How the file was cut off.
    until
        When its last event began [us]. A step that was over by then is whole but for the last,
        which may lack events that were written after those of its end. Where none is whole, all
        stay.
    """
    known = -inf if until is None else until
    whole = [step for step, end in zip(steps[:-1], ends, strict=False) if end <= known]
    if not whole:
        return list(steps), [f"{cut.said} {_NO_WHOLE_STEP}"]
    left = len(steps) - len(whole)
    which = "One step is" if left == 1 else f"{left:,} steps are"
    return whole, [f"{cut.said} {which} not there as a whole, and not read."]
