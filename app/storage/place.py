"""Where a service keeps things: for itself alone; what cannot work is said at the start.

What may pass, a lock, a full disk or a folder that is mounted later, is left to readiness.
"""

import os
import socket
import sqlite3
import stat
import tempfile
from contextlib import closing, suppress
from pathlib import Path

#: The mode of a folder, and of a file, that is for this user alone.
FOLDER_MODE, FILE_MODE = 0o700, 0o600


#: What SQLite has beside a database that is in use.
_BESIDE = ("", "-wal", "-shm", "-journal")


#: What SQLite says of a file that no patience makes a database.
_BROKEN = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


class UnusablePlace(Exception):
    """The service cannot keep anything where it was told to; a sentence for whoever started it."""


def prepare(file: Path, *, makes_folder: bool) -> None:
    """Make the folder of a database, let nobody else read its files, and see that both will do.

    To be called before this process opens the file. A folder that is not the service's own to make
    may come later.

    Raises
    ------
    UnusablePlace
        When the folder cannot be made or written, or the file is no database that can be.
    """
    folder = file.absolute().parent
    what = "data directory" if makes_folder else "directory of the database"
    try:
        if makes_folder:
            make_folder(folder)
        elif not folder.exists():
            return
    except OSError as error:
        raise UnusablePlace(f"The {what} {folder} cannot be made: {_why(error)}.") from None
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UnusablePlace(f"The {what} {folder} cannot be written: {_why(error)}.") from None
    if file.exists():
        _close_to_others(file)
        _check(file)


def check_sockets() -> None:
    """See that a socket can lie where multiprocessing will put those of the jobs' processes.

    Raises
    ------
    UnusablePlace
        When the path is too long: a system takes some 100 bytes.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pymp-") as folder,
        socket.socket(socket.AF_UNIX) as found,
    ):
        try:
            found.bind(f"{folder}/listener-01234567")
        except OSError as error:
            where, why = tempfile.gettempdir(), str(error.strerror or error)
            raise UnusablePlace(
                f"No socket can lie in the temporary directory {where}: {why}; set TMPDIR."
            ) from None


def make_folder(folder: Path) -> None:
    """Make a folder for this user alone, unless there is one; those above it have usual modes."""
    folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)


def make_file(file: Path) -> None:
    """Make an empty file for this user alone, unless there is one.

    What SQLite has beside a database has the mode of the database.
    """
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def _close_to_others(file: Path) -> None:
    """Take from others what they may do with a file of ours, also one of an earlier release."""
    for end in _BESIDE:
        with suppress(FileNotFoundError, PermissionError):
            beside = file.with_name(file.name + end)
            if beside.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                beside.chmod(FILE_MODE)


def _check(file: Path) -> None:
    """See that a file is a database, or empty, and may be written."""
    if not file.is_file():
        raise UnusablePlace(f"The database {file} is no file.")
    if not os.access(file, os.R_OK | os.W_OK):
        raise UnusablePlace(f"The database {file} cannot be read and written: permission denied.")
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as found:
            found.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF in _BROKEN:
            raise UnusablePlace(f"The file {file} is no sound SQLite database: {error}.") from None


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
