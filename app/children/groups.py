"""Groups of processes: a child that may start others has one of its own."""

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
    """End this process; with all that it started, if the group is its own."""
    if not kill_group(os.getpid()):
        os.kill(os.getpid(), signal.SIGKILL)
