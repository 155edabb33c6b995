"""Waiting, in the one place where tests may: for a state, and as long as it takes.

Nothing here has a deadline. A test that waits for what never comes is ended by pytest's own limit
(pyproject.toml), which no machine that has other things to do reaches.
"""

import time
from collections.abc import Callable

#: A condition is looked at so often [s].
_LOOK_S = 0.1


def until(true: Callable[[], object]) -> None:
    """Wait until something is so, which must not wait itself."""
    while not true():
        time.sleep(_LOOK_S)


def pause(seconds: float) -> None:
    """Let others go on for so long at least; what is so afterwards must not depend on it."""
    time.sleep(seconds)
