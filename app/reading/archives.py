"""The files in an archive, known by its first bytes: tar, packed by gzip or not, and zip.

Nothing is written anywhere, so no path and no link leads out of it; an archive in an archive is not
opened.
"""

import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple, Protocol

from app.limits import MAX_ARCHIVE_RATIO, MAX_FILES
from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.wording import shown

#: How a zip archive begins: with a file, or empty.
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
#: What stands before each entry of its directory; this many more than files may be folders.
_ENTRY, _FOLDERS = b"PK\x01\x02", 10
#: A tar archive is of such blocks, and says at this place of the first that it is one.
_BLOCK, _TAR, _TAR_AT = 512, b"ustar", 257
#: What is not the content of any file, but says more of the next one.
_HEADERS = {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE}
_HEADERS |= {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
_STORED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
#: Less than this is no bomb, whatever its ratio [bytes].
_SMALL = 2**20
#: All that the zip library raises where a file is broken.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    LookupError,
    ArithmeticError,
)


class Member(NamedTuple):
    """A file of an archive, or what is there and is not read.

    Attributes
    ----------
    name
        As the archive calls it.
    content
        Empty of what is not read.
    why_not
        What it is that is not read; empty of a file.
    is_cut
        Whether the archive ends in it.
    """

    name: str
    content: bytes
    why_not: str = ""
    is_cut: bool = False


class Source(Protocol):
    """What a tar archive is taken from, piece by piece."""

    def take(self, size: int) -> bytes:
        """Return so many bytes, and fewer only at the end."""


def is_tar(head: bytes) -> bool:
    """Tell whether a file that begins so is a tar archive."""
    return head[_TAR_AT:].startswith(_TAR)


def is_zip(head: bytes) -> bool:
    """Tell whether a file that begins so is a zip archive."""
    return head.startswith(_ZIP)


def tar_members(source: Source, most: int) -> Iterator[Member]:
    """Yield the members of a tar archive in its order, each when it is asked for.

    Parameters
    ----------
    source
        The archive, from its begin.
    most
        What all files may have [bytes].

    Raises
    ------
    InvalidTrace
        When it is broken, or over a limit: before more than ``most`` is held.
    """
    headers = 0
    while block := source.take(_BLOCK):
        if not any(block):
            return  # the end, as the format has it
        headers += 1
        if headers > MAX_FILES * _FOLDERS:
            raise _too_many()
        if len(block) < _BLOCK:
            yield Member("", b"", is_cut=True)
            return
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
        except tarfile.HeaderError as error:
            detail = f"The tar archive is broken after {headers - 1} headers: {error}."
            raise _refused(FaultCode.WRONG_FORMAT, detail) from None
        size = _size(info)
        if not 0 <= size <= most:
            raise _too_large(info.name, most)
        content = source.take(size)
        is_cut = len(content) < size or len(source.take(-size % _BLOCK)) < -size % _BLOCK
        member = _member(info, content, is_cut=len(content) < size)
        most -= len(member.content) if member else 0
        if member is not None:
            yield member
        if is_cut:
            yield Member("", b"", is_cut=True)
            return


def _size(info: tarfile.TarInfo) -> int:
    """Return how much follows a header [bytes]: nothing of a link, a folder or a device."""
    has_data = info.isreg() or info.type in _HEADERS or info.type not in tarfile.SUPPORTED_TYPES
    return info.size if has_data else 0


def _member(info: tarfile.TarInfo, content: bytes, *, is_cut: bool) -> Member | None:
    """Return what a header and what follows it are; None of a folder, and of what is no file."""
    if info.type in _HEADERS or info.isdir():
        return None
    if info.issym() or info.islnk():
        return Member(info.name, b"", "a link")
    if info.issparse():
        return Member(info.name, b"", "a sparse file")
    if not info.isreg():
        return Member(info.name, b"", "a device, a pipe or of a kind that nobody knows")
    return Member(info.name, content, is_cut=is_cut)


def zip_members(content: bytes, most: int) -> Iterator[Member]:
    """Yield the members of a zip archive in its order, each when it is asked for.

    Parameters
    ----------
    content
        The archive.
    most
        What all files may have [bytes].

    Raises
    ------
    InvalidTrace
        When it is broken, encrypted, packed in a way that is not read, or over a limit: before more
        than ``most`` is held.
    """
    if content.count(_ENTRY) > MAX_FILES * _FOLDERS:
        raise _too_many()
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            for info in archive.infolist():
                if info.is_dir():
                    continue
                if stat.S_ISLNK(info.external_attr >> 16):
                    yield Member(info.filename, b"", "a link")
                    continue
                _check(info, most)
                with archive.open(info) as file:
                    found = file.read(most + 1)
                if len(found) > most:
                    raise _too_large(info.filename, most)
                most -= len(found)
                yield Member(info.filename, found)
    except _BROKEN as error:
        is_short = "not a zip file" in str(error)
        code = FaultCode.TRUNCATED if is_short else FaultCode.WRONG_FORMAT
        why = "it has no directory: it was cut off" if is_short else str(error)
        raise _refused(code, f"The zip archive cannot be read: {why}.") from None


def _check(info: zipfile.ZipInfo, most: int) -> None:
    """Refuse a file of a zip archive by what its directory says of it."""
    if info.flag_bits & 1:
        detail = f"{_named(info.filename)} of the archive is encrypted: unpack it."
        raise _refused(FaultCode.NOT_SUPPORTED, detail)
    if info.compress_type not in _STORED:
        detail = f"{_named(info.filename)} of the archive is packed in a way that is not read."
        raise _refused(FaultCode.NOT_SUPPORTED, f"{detail} Use deflate, or unpack it.")
    if info.file_size > most:
        raise _too_large(info.filename, most)
    check_ratio(info.file_size, info.compress_size)


def check_ratio(size: int, packed: int) -> None:
    """Refuse what unpacks to far more than recordings do.

    Raises
    ------
    InvalidTrace
        When it is over :data:`app.limits.MAX_ARCHIVE_RATIO`.
    """
    if size > _SMALL and size > MAX_ARCHIVE_RATIO * packed:
        detail = f"The archive unpacks to more than {MAX_ARCHIVE_RATIO:,} times its size."
        raise _refused(FaultCode.TOO_LARGE, detail)


def _named(name: str) -> str:
    return f"File {shown(name)}"


def _too_large(name: str, most: int) -> InvalidTrace:
    detail = f"{_named(name)} of the archive has more than the {most:,} bytes that are left."
    return _refused(FaultCode.TOO_LARGE, detail)


def _too_many() -> InvalidTrace:
    detail = f"The archive has more than {MAX_FILES * _FOLDERS:,} files and folders."
    return _refused(FaultCode.TOO_LARGE, detail)


def _refused(code: FaultCode, detail: str) -> InvalidTrace:
    return InvalidTrace([Fault("", code, detail)])
