"""Groups of processes: a child has one of its own, so that what it starts ends with it."""

import os
import signal


def kill_group(leader: int) -> bool:
    """Kill a child and all that it started; False when it has gone, or has no group yet."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def end_own_group() -> None:
    """End this process and all that it started."""
    os.killpg(0, signal.SIGKILL)
