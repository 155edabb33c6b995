"""What the processes of a pool do with an item; they import nothing else of the tests."""

import os
import signal
from pathlib import Path

from tests.waiting import pause, until


def late(longest: int, item: int) -> tuple[int, int]:
    """The first items take longest."""
    pause(0.02 * (longest - item))
    return item, os.getpid()


def dying(item: int) -> int:
    """One item kills its process."""
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def dying_once(folder: str, item: int) -> tuple[int, int]:
    """One item kills its process the first time; how often each was begun is in the folder."""
    times = sum(path.name.startswith(f"{item}-") for path in Path(folder).iterdir())
    Path(folder, f"{item}-{times}").touch()
    if item == 3 and not times:
        os.kill(os.getpid(), signal.SIGKILL)
    return item, times


def deadly(item: int) -> int:
    """All items kill their process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return item


def failing(item: int) -> int:
    """All items from the fourth on are errors."""
    if item >= 3:
        raise ValueError(f"item {item}")
    return item


def endless(folder: str) -> None:
    """Say which process it is, and never end."""
    Path(folder, str(os.getpid())).touch()
    until(lambda: False)
