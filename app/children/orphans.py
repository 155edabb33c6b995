"""No process of a server outlives it, not even by the time that it takes to import things."""

import atexit
import ctypes
import os
import shutil
import signal
import sys
import time
from multiprocessing.util import get_temp_dir

#: Variables that name the server, and its directory for sockets, to what forks its children.
_SERVER, _SOCKETS = "_INTERLACE_SERVER", "_INTERLACE_SOCKETS"


#: That process looks so often whether the server is there [s]. The children, which hear of it at
#: once, go before it does, and take with them what they started. Once the last of them has gone it
#: would end without a look (multiprocessing): it waits for one.
_LOOK_S = 0.5


_PR_SET_PDEATHSIG = 1


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def name_server() -> None:
    """Say that this process is the server of those that are started from now on."""
    os.environ[_SERVER], os.environ[_SOCKETS] = str(os.getpid()), get_temp_dir()


def end_with_server() -> None:
    """End this process, which forks the children, when the server has gone.

    A timer interrupts whatever it is at; a thread would be forked with the children. The socket
    that it listens to goes with it: a server that is killed cannot remove it.
    """
    server, sockets = int(os.environ.get(_SERVER, os.getppid())), os.environ.get(_SOCKETS)

    def look(*_: object) -> None:
        if os.getppid() != server:
            if sockets:
                shutil.rmtree(sockets, ignore_errors=True)
            os._exit(0)

    look()
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    atexit.register(time.sleep, 2 * _LOOK_S)  # the children end without such farewells


def end_with_forkserver() -> None:
    """Have the system kill this process when the one that forked it has gone; Linux alone can.

    That helps where this one is stopped, or so busy that it hears nothing.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
