"""Files as they arrive: gzip, known by its magic bytes, or plain."""

import zlib

from solver.errors import Fault, InvalidTrace

_GZIP = b"\x1f\x8b"


_ZIP = b"PK\x03\x04"


#: Most members of a gzip file, and how much of it is looked at together [bytes].
_MEMBERS, _PIECE = 100_000, 2**14


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
    found, at = bytearray(), 0
    for _ in range(_MEMBERS):
        at = _member(content, at, found, most)
        while at < len(content) and content[at] == 0:  # padding
            at += 1
        if at == len(content):
            return bytes(found)
    raise _refused("too_large", f"The gzip file has more than {_MEMBERS:,} members.")


def _member(content: bytes, at: int, found: bytearray, most: int) -> int:
    """Unpack one member behind what was found; return where it ends."""
    part = zlib.decompressobj(wbits=31)
    while not part.eof:
        if at >= len(content):
            raise _refused("truncated", "The gzip file ends in the middle.")
        piece = content[at : at + _PIECE]
        try:
            found += part.decompress(piece, most - len(found) + 1)
        except zlib.error as error:
            raise _refused("not_gzip", f"The file begins like gzip, but: {error}.") from None
        if len(found) > most:
            raise _refused("too_large", f"The file unpacks to more than {most:,} bytes.")
        at += len(piece) - len(part.unused_data)
    return at


def _refused(code: str, detail: str) -> InvalidTrace:
    return InvalidTrace([Fault("", code, detail)])
