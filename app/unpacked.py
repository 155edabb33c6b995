"""Files as they arrive: gzip, known by its magic bytes, or plain."""

import zlib

from solver.errors import Fault, InvalidTrace

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"


def unpacked(content: bytes, most: int) -> bytes:
    """Return what a gzip file holds, or the file itself when it is none.

    Raises
    ------
    InvalidTrace
        ``empty``, ``truncated`` or ``not_gzip``; ``too_large`` beyond ``most`` bytes, before more
        than that is unpacked; ``wrong_format`` for an archive of files.
    """
    if not content:
        raise _refused("empty", "The file is empty.")
    if content.startswith(_ZIP):
        raise _refused("wrong_format", "This is a zip archive; give the files in it.")
    if not content.startswith(_GZIP):
        return content
    found, rest = bytearray(), content
    while rest:
        part = zlib.decompressobj(wbits=31)
        try:
            found += part.decompress(rest, most - len(found) + 1)
            if len(found) > most:
                raise _refused("too_large", f"The file unpacks to more than {most:,} bytes.")
        except zlib.error as error:
            raise _refused("not_gzip", f"The file begins like gzip, but: {error}.") from None
        if not part.eof:
            raise _refused("truncated", "The gzip file ends in the middle.")
        rest = part.unused_data.lstrip(b"\0")  # other members, or padding
    return bytes(found)


def _refused(code: str, detail: str) -> InvalidTrace:
    return InvalidTrace([Fault("", code, detail)])
