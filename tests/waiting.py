"""Waiting, in the one place where tests may: for a state, and as long as it takes.

Nothing here has a deadline. A test that waits for what never comes is ended by pytest's own limit
(pyproject.toml), which no machine that has other things to do reaches.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
#: A condition is looked at so often [s].
_LOOK_S = 0.02


def until(condition: Callable[[], T]) -> T:
    """Wait until a condition gives something true, and return that."""
    while not (found := condition()):
        time.sleep(_LOOK_S)
    return found


def pause(seconds: float) -> None:
    """Let others go on for so long at least; what is so afterwards must not depend on it."""
    time.sleep(seconds)
