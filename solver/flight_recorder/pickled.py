"""Pickles of plain data: read without importing or calling anything that they name.

Only the opcodes of None, booleans, numbers, text, lists, tuples and dicts are known. The
interpreter in Python is used, since its memo is a dict: that of the one in C grows to whatever
index a file names. A tuple that is used again must be flat, or hashing one of many levels would
take a time that doubles with each.
"""

import pickle
import struct
from io import BytesIO
from typing import Any, ClassVar, NoReturn

from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError

#: How a pickle of protocol 2 or newer begins.
BEGINS = b"\x80"


#: Longest pickle that is read [bytes].
MAX_PICKLE_BYTES = 2**24


#: What makes plain data, of protocols 2 to 5; GLOBAL and STACK_GLOBAL lead to a refusal by name.
_PLAIN = (
    "PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT "
    "BINUNICODE SHORT_BINUNICODE EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS "
    "EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 BINPUT LONG_BINPUT MEMOIZE BINGET LONG_BINGET "
    "GLOBAL STACK_GLOBAL"
)


#: What the opcodes of a broken file run into.
_BROKEN = (
    pickle.UnpicklingError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
    struct.error,
)


class _FlatMemo(dict[int, Any]):
    """What may be used again: all but a tuple that holds more than numbers and text."""

    def __getitem__(self, index: int) -> Any:
        value = super().__getitem__(index)
        if isinstance(value, tuple) and not all(
            one is None or isinstance(one, str | int | float) for one in value
        ):
            raise pickle.UnpicklingError("it uses a tuple of lists, tuples or objects twice")
        return value


class _PlainUnpickler(pickle._Unpickler):  # noqa: SLF001 - see the module
    """An unpickler that makes plain data alone."""

    dispatch: ClassVar = {
        getattr(pickle, name)[0]: pickle._Unpickler.dispatch[getattr(pickle, name)[0]]  # noqa: SLF001
        for name in _PLAIN.split()
    }

    def __init__(self, content: bytes) -> None:
        super().__init__(BytesIO(content))
        self.memo = _FlatMemo()

    def find_class(self, module_name: str, global_name: str) -> NoReturn:
        """Refuse whatever is named: plain data names nothing."""
        what = f"{module_name}.{global_name}"[:100]
        raise pickle.UnpicklingError(f"it names {what}, and plain data names nothing")


def unpickled(content: bytes) -> Any:
    """Return the plain data of a pickle.

    Raises
    ------
    InterlaceError
        When it is too long, is broken or names anything to import.

    Notes
    -----
    O(bytes) in time and memory. What a pickle uses twice is one object of the result, so a walk
    over all of it may take longer.
    """
    if len(content) > MAX_PICKLE_BYTES:
        detail = f"The pickle is longer than {MAX_PICKLE_BYTES:,} bytes."
        raise InterlaceError([Fault("", FaultCode.TOO_LARGE, detail)])
    try:
        return _PlainUnpickler(content).load()
    except _BROKEN as error:
        why = str(error) if isinstance(error, pickle.UnpicklingError) else "it is broken"
        detail = f"The pickle is not read: {why}."
        raise InterlaceError([Fault("", FaultCode.WRONG_FORMAT, detail)]) from None
