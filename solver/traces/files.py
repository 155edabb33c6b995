"""What readers do with bytes before they can read: how a file begins, one file, text."""

from collections.abc import Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace

#: A byte order mark, which readers pass over.
MARK = b"\xef\xbb\xbf"
#: What a file is, so many bytes tell.
SEEN = 2**16


def beginning(content: bytes) -> bytes:
    """Return how a file begins, without a byte order mark and blanks."""
    return content[:SEEN].removeprefix(MARK).lstrip()


def single_file(files: Sequence[bytes]) -> bytes:
    """Return the one file of a format that has one.

    Raises
    ------
    InvalidTrace
        When there are more.
    """
    if len(files) != 1:
        detail = f"This format is one file, got {len(files)}."
        raise InvalidTrace([Fault("", FaultCode.TOO_MANY_FILES, detail)])
    return files[0]


def single_text(files: Sequence[bytes]) -> str:
    """Return the one file as text; a byte order mark is passed over.

    Raises
    ------
    InvalidTrace
        When there are more files, or it is not UTF-8.
    """
    content = single_file(files)
    try:
        return content.removeprefix(MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        detail = f"Not text: bad byte at {error.start}."
        raise InvalidTrace([Fault("", FaultCode.NOT_TEXT, detail)]) from None
