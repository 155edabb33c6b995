"""The program of a child that says that it is there, and gets no further."""

import os
import signal
from pathlib import Path

if __name__ == "__main__":
    Path(os.environ["BUSY"], str(os.getpid())).touch()
    signal.pause()
