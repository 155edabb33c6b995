"""What a file is that no reader takes, as far as its first bytes tell, and what to do with it."""

from solver.calibration import measurements
from solver.errors import InvalidMeasurements
from solver.flight_recorder.dump import is_pickled
from solver.traces.files import SEEN

#: How files begin that hold others or are compressed, and what they are.
_BEGINS = (
    (b"PK\x03\x04", "a zip archive: unpack it, and give the files in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it, and give the files in it"),
    (b"Rar!\x1a\x07", "a rar archive: unpack it, and give the files in it"),
    (b"\x1f\x8b", "gzip: unpack it"),
    (b"BZh", "compressed by bzip2: unpack it, or pack it with gzip"),
    (b"\xfd7zXZ\x00", "compressed by xz: unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it, or pack it with gzip"),
    (
        b"SQLite format 3\x00",
        "an SQLite database that Nsight Systems has not exported: it is not read",
    ),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file: it is not read"),
)
#: Where a tar archive says that it is one.
_TAR, _TAR_AT = b"ustar", 257


def description(content: bytes) -> str | None:
    """Say what a file is that is no graph and no trace, and what to do with it; None if unknown.

    The answer completes the sentence "The file is ...".
    """
    for mark, what in _BEGINS:
        if content.startswith(mark):
            return what
    if content[_TAR_AT:].startswith(_TAR):
        return "a tar archive: unpack it, and give the files in it"
    if is_log(content):
        return (
            "a log of launches: 'interlace calibrate' reads it, and --cost-model takes it, or what "
            "that writes"
        )
    return None


def is_log(content: bytes) -> bool:
    """Tell whether a file is a log of launches; a mere table may be anything."""
    head = content[:SEEN]  # it names its columns, or itself, in these
    if is_pickled(head):
        return True
    try:
        text = head.decode("utf-8", errors="strict" if len(head) < SEEN else "ignore")
        return measurements.detect(text) != measurements.csv_table.FORMAT
    except (UnicodeDecodeError, InvalidMeasurements):
        return False
