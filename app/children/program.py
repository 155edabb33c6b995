"""Children that are programs of their own, where the parent may have none of multiprocessing.

This module is light: a Dask worker, which starts such children, imports no more of the service.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from typing import Any, Self

from app.children.exit_reason import reason_of
from app.children.groups import kill_group

#: How often whoever waits for a child is asked whether its work is still wanted [s].
_ASK_S = 0.1


#: A child has one core; threads of its libraries would take up memory and wait for each other.
_ONE_CORE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class ProgramChild:
    """A process that runs ``python -m MODULE FD``, and the parent's side of its pipe.

    A pipe that is closed, or an end of file, says that it has ended. What it starts ends with it if
    it has a group of its own; else it ends with the group of its parent.
    """

    def __init__(self, module: str, *, has_group: bool) -> None:
        self.pipe, theirs = Pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this package
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0 if has_group else None,
                env={**os.environ, **_ONE_CORE, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()

    def hear(self, watch: Callable[[Self], None]) -> Any:
        """Return the next that it tells.

        ``watch`` is called first, and ten times a second; what it raises goes on.

        Raises
        ------
        EOFError, OSError
            When it has ended.
        """
        watch(self)
        while not self.pipe.poll(_ASK_S):
            watch(self)
        return self.pipe.recv()

    def reason(self) -> str:
        """Say how it ended, once it has let go of its pipe; it is killed if it does not end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ASK_S)
        return reason_of(self.kill())

    def kill(self) -> int:
        """End it and all that it started; return its exit code."""
        if not kill_group(self._process.pid):
            self._process.kill()
        self.pipe.close()
        return self._process.wait()
