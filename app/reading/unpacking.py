"""Files as they arrive: gzip, known by its magic bytes, or plain."""

import zlib
from gzip import BadGzipFile, GzipFile
from io import BytesIO

from app.codes import ServiceFaultCode
from solver.codes import Code, FaultCode
from solver.errors import Fault, InvalidTrace

_GZIP = b"\x1f\x8b"


#: How a member of a gzip file begins, and most members: each takes its time, also an empty one.
_MEMBER, _MEMBERS = b"\x1f\x8b\x08", 100_000


def unpacked(content: bytes, most: int) -> bytes:
    """Return what a gzip file holds, or the file itself when it is none.

    Raises
    ------
    InvalidTrace
        ``empty``, ``truncated`` or ``not_gzip``; ``too_large`` beyond ``most`` bytes, before more
        than that is unpacked.
    """
    if not content:
        raise _refused(FaultCode.EMPTY, "The file is empty.")
    if not content.startswith(_GZIP):
        return content
    if content.count(_MEMBER) > _MEMBERS:
        raise _refused(FaultCode.TOO_LARGE, f"The gzip file has more than {_MEMBERS:,} members.")
    try:
        with GzipFile(fileobj=BytesIO(content)) as file:
            plain = file.read(most + 1)
    except EOFError:
        raise _refused(FaultCode.TRUNCATED, "The gzip file ends in the middle.") from None
    except (BadGzipFile, zlib.error) as error:
        raise _refused(
            ServiceFaultCode.NOT_GZIP, f"The file begins like gzip, but: {error}."
        ) from None
    if len(plain) > most:
        raise _refused(FaultCode.TOO_LARGE, f"The file unpacks to more than {most:,} bytes.")
    return plain


def _refused(code: Code, detail: str) -> InvalidTrace:
    return InvalidTrace([Fault("", code, detail)])
