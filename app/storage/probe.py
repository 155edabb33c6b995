"""Whether a database can be used now: is it the file that was opened, has it room, can it write.

Each check raises StorageUnavailable. What they say names no path and no host: whoever may ask
whether the service is ready may read it.
"""

import os
import shutil
from contextlib import suppress

from app.errors import StorageUnavailable
from app.operations.settings import Settings
from app.storage.database import Identity, Store, identity_of, unavailable

#: A write waits so long for the others; a database that keeps it longer keeps all waiting [s].
WRITE_S = 2.0


class Probe:
    """Checks of a store's database."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._least_free = settings.min_free_bytes

    def check_file(self) -> None:
        """See that the file which was opened is still there, and may be written."""
        file, opened = self._store.file, self._store.identity
        if file is None or opened is None:
            return
        found: Identity | None = None
        with unavailable(), suppress(FileNotFoundError, NotADirectoryError):
            found = identity_of(file)
        if found is None:
            raise StorageUnavailable("The file of the database is gone; start the service anew.")
        if found != opened:
            raise StorageUnavailable(
                "Another file stands in the place of the database's; start the service anew."
            )
        if not os.access(file, os.W_OK):
            raise StorageUnavailable("The file of the database is read-only.")

    def check_room(self) -> None:
        """See that the disk of the file has the room that it should."""
        file = self._store.file
        if file is None:
            return
        with unavailable():
            free = shutil.disk_usage(file.parent).free
        if free < self._least_free:
            raise StorageUnavailable(
                f"The disk of the database has {free:,} bytes left; {self._least_free:,} must be "
                "free (min_free_bytes)."
            )

    def check_writes(self) -> None:
        """Write a few bytes that mean nothing, within :data:`WRITE_S`."""
        self._store.try_write(WRITE_S)
