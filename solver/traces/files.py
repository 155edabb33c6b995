"""What readers do with bytes before they can read: how a file begins, which it is, text."""

from collections.abc import Callable, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace

#: A byte order mark, which readers pass over.
MARK = b"\xef\xbb\xbf"
#: What a file is, so many bytes tell.
SEEN = 2**16


def beginning(content: bytes) -> bytes:
    """Return how a file begins, without a byte order mark and blanks."""
    return content[:SEEN].removeprefix(MARK).lstrip()


def places_of(files: Sequence[bytes]) -> list[str]:
    """Return the pointer to each file: none where it is the only one.

    Raises
    ------
    InvalidTrace
        When there is no file.
    """
    if not files:
        raise InvalidTrace([Fault("", FaultCode.EMPTY, "No file was given.")])
    return [f"/files/{i}" if len(files) > 1 else "" for i in range(len(files))]


def with_companion(
    files: Sequence[bytes], is_companion: Callable[[bytes], bool], names: tuple[str, str]
) -> tuple[tuple[bytes, str], tuple[bytes, str] | None]:
    """Return the one file and the one beside it, if there is one, each with its pointer.

    Parameters
    ----------
    files
        In any order.
    is_companion
        Tells the file beside the other.
    names
        What both are called.

    Raises
    ------
    InvalidTrace
        When there are not one and at most one.
    """
    own = [i for i, file in enumerate(files) if not is_companion(file)]
    beside = [i for i in range(len(files)) if i not in own]
    if len(own) != 1 or len(beside) > 1:
        code = FaultCode.TOO_MANY_FILES if own else FaultCode.EMPTY
        detail = (
            f"Give one {names[0]}, and one file of {names[1]} at most; "
            f"got {len(own)} and {len(beside)}."
        )
        raise InvalidTrace([Fault("", code, detail)])
    found = list(zip(files, places_of(files), strict=True))
    return found[own[0]], found[beside[0]] if beside else None


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
