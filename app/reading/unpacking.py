"""Files as they arrive: plain, gzip, or archives, known by their first bytes and not by names."""

import zlib
from collections.abc import Iterator, Sequence
from gzip import BadGzipFile, GzipFile
from io import BytesIO
from typing import NamedTuple

from app.codes import ServiceFaultCode
from app.limits import MAX_FILES
from app.reading.archives import Member, check_ratio, is_tar, is_zip, tar_members, zip_members
from solver.codes import Code, FaultCode
from solver.errors import Fault, InvalidTrace
from solver.wording import shown

_GZIP = b"\x1f\x8b"
#: How a member of a gzip file begins, and most members: each takes its time, also an empty one.
_MEMBER, _MEMBERS = b"\x1f\x8b\x08", 100_000
#: So much of a file tells what it is [bytes].
_HEAD = 512
#: Said of what is packed.
_CUT = "ends in the middle: what could be unpacked is read."
#: So much is unpacked at a time [bytes].
_PIECE = 2**18
#: What computers put beside files, and nobody recorded.
_FOREIGN = "__MACOSX/"


class UnpackedFiles(NamedTuple):
    """What files hold.

    Attributes
    ----------
    contents
        Of each file, those of an archive in its order.
    names
        What an archive calls each; None of what came as a file.
    dropped
        One sentence for what of archives is no file.
    cut
        One sentence for each file that ends in the middle, where its packing tells.
    """

    contents: list[bytes]
    names: list[str | None]
    dropped: tuple[str, ...]
    cut: tuple[str, ...]


def unpacked_files(files: Sequence[bytes], most: int) -> UnpackedFiles:
    """Unpack files, which together may have so many bytes.

    A gzip file or an archive that ends too early is read as far as it goes.

    Raises
    ------
    InvalidTrace
        ``empty`` or ``not_gzip``; ``too_large`` beyond ``most`` bytes, before more than that is
        unpacked, or with more files than :data:`app.limits.MAX_FILES`; what
        :mod:`app.reading.archives` refuses.

    Notes
    -----
    O(bytes unpacked).
    """
    unpacking = _Unpacking(most)
    for file in files:
        unpacking.add(file)
    return unpacking.found()


class _Packed:
    """A file that is taken piece by piece, unpacked if it is gzip."""

    def __init__(self, content: bytes, most: int) -> None:
        if not content:
            raise _refused(FaultCode.EMPTY, "The file is empty.")
        self.is_gzip = content.startswith(_GZIP)
        if self.is_gzip and content.count(_MEMBER) > _MEMBERS:
            detail = f"The gzip file has more than {_MEMBERS:,} members."
            raise _refused(FaultCode.TOO_LARGE, detail)
        self._content, self._most = content, most
        self._file = GzipFile(fileobj=BytesIO(content))
        #: How much was unpacked, or taken of a file that is not packed.
        self._taken, self._ahead = 0, b""
        #: Whether the gzip file was found to end in the middle.
        self.is_cut = False

    def head(self) -> bytes:
        """Return how the file begins, which is still to be taken after that."""
        if not self.is_gzip:
            return self._content[:_HEAD]
        self._ahead = self._ahead or self.take(_HEAD)
        return self._ahead

    def take(self, size: int) -> bytes:
        """Return so many bytes, and fewer only at the end."""
        if not self.is_gzip:
            begin = self._taken
            self._taken += size
            return self._content[begin : begin + size]
        pieces, self._ahead = [self._ahead[:size]], self._ahead[size:]
        left = size - len(pieces[0])
        while left > 0 and (piece := self._next(left)):
            pieces.append(piece)
            left -= len(piece)
            self._taken += len(piece)
            if self._taken > self._most:
                detail = f"The file unpacks to more than {self._most:,} bytes."
                raise _refused(FaultCode.TOO_LARGE, detail)
        return b"".join(pieces)

    def rest(self) -> bytes:
        """Return all that was not taken: of a file that is not packed the file itself."""
        return self.take(self._most + 1 if self.is_gzip else len(self._content))

    def check_ratio(self) -> None:
        """Refuse an archive that unpacks to far more than recordings do."""
        check_ratio(self._taken if self.is_gzip else 0, len(self._content))

    def _next(self, size: int) -> bytes:
        try:
            return self._file.read1(min(size, _PIECE))  # it takes the memory that is asked for
        except EOFError:
            self.is_cut = True
            return b""
        except (BadGzipFile, zlib.error) as error:
            detail = f"The file begins like gzip, but: {error}."
            raise _refused(ServiceFaultCode.NOT_GZIP, detail) from None


class _Unpacking:
    """What was unpacked so far."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._contents: list[bytes] = []
        self._names: list[str | None] = []
        self._dropped: list[str] = []
        self._cut: list[str] = []

    def add(self, content: bytes) -> None:
        """Add a file, or the files of an archive."""
        source = _Packed(content, self._left)
        head = source.head()
        if is_tar(head):
            self._add_members(source, tar_members(source, self._left))
        elif is_zip(head):
            self._add_members(source, zip_members(source.rest(), self._left))
        else:
            plain = source.rest()
            if source.is_cut and not plain:
                raise _refused(FaultCode.TRUNCATED, "The gzip file ends before what it holds.")
            if len(plain) >= _HEAD and not plain.strip(b"\0"):
                detail = "The file has nothing but zeros: an empty tar archive, or never written."
                raise _refused(FaultCode.EMPTY, detail)
            self._keep(plain, None)
            if source.is_cut:
                self._cut.append(f"The gzip file {_CUT}")

    def found(self) -> UnpackedFiles:
        """Return all of it."""
        return UnpackedFiles(
            self._contents, self._names, tuple(self._dropped), tuple(dict.fromkeys(self._cut))
        )

    def _keep(self, content: bytes, name: str | None) -> None:
        self._left -= len(content)
        self._contents.append(content)
        self._names.append(name)

    def _add_members(self, archive: _Packed, members: Iterator[Member]) -> None:
        is_cut, before, dropped = False, len(self._contents), len(self._dropped)
        for member in members:
            archive.check_ratio()
            is_cut = is_cut or member.is_cut
            if why := member.why_not or _why_not(member):
                self._dropped.append(f"{_called(member)} is {why}: not read.")
            elif member.content:
                is_cut = self._add_member(member) or is_cut
            if len(self._contents) > MAX_FILES:
                detail = f"The archive has more than the {MAX_FILES:,} files that are read."
                raise _refused(FaultCode.TOO_LARGE, detail)
        if len(self._contents) == before:
            why = " ".join(["No file is in the archive.", *self._dropped[dropped:]])
            raise _refused(FaultCode.EMPTY, why)
        if is_cut or archive.is_cut:
            self._cut.append(f"The archive {_CUT}")

    def _add_member(self, member: Member) -> bool:
        """Add a file of an archive, and tell whether it is packed and ends in the middle."""
        source = _Packed(member.content, self._left)
        head = source.head()
        if is_tar(head) or is_zip(head):
            detail = f"{_called(member)} is an archive itself: unpack it."
            raise _refused(FaultCode.NOT_SUPPORTED, detail)
        self._keep(source.rest(), member.name)
        return source.is_cut


def _called(member: Member) -> str:
    return f"File {shown(member.name)} of the archive"


def _why_not(member: Member) -> str:
    """Say what a member is that nobody recorded; empty of others."""
    if not member.content:
        return "" if member.is_cut else "empty"
    base = member.name.rpartition("/")[2]
    return "hidden" if base.startswith(".") or member.name.startswith(_FOREIGN) else ""


def _refused(code: Code, detail: str) -> InvalidTrace:
    return InvalidTrace([Fault("", code, detail)])
