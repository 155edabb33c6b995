"""Where and how a part of the testbed was run, in sentences."""

import os
import platform
import shlex
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from tests.testbed.sessions import ROOT


def said_of(network: str, load: float, seconds: float) -> list[str]:
    """Say on which network and machine, with which versions, by which command.

    Parameters
    ----------
    network
        In words.
    load
        The machine's load before.
    seconds
        How long it took.
    """
    command = shlex.join(["python", "-m", "tests.testbed", *sys.argv[1:]])
    return [
        f"Network: {network}.",
        f"Machine: {os.cpu_count()} cores ({_processor()}), Linux {platform.release()}, load "
        f"{load:.2f} before; {time.strftime('%Y-%m-%d')}, {seconds:.0f} s.",
        f"Versions: Interlace {version('interlace')} at {_commit()}, PyTorch {version('torch')}, "
        f"Python {platform.python_version()}.",
        f"Command: `{command}`.",
    ]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _commit() -> str:
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "an unknown commit"
