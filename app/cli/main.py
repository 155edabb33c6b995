"""The command ``interlace``: errors are one line on standard error each, with an exit code.

Exit codes: 0 done; 1 the input is wrong or the work failed; 2 the command was used wrongly;
130 interrupted.

Nothing is imported here that takes time: an interrupt is a line from the first moment.
"""

import sys

from app.cli.interrupts import INTERRUPTED, leaving
from app.cli.lifetime import ending_soon


def main() -> None:
    """Run the command and exit."""
    with leaving(), ending_soon():
        sys.exit(_run())


def _run() -> int:
    """Run the command; return its exit code."""
    from app.cli.failures import complain, failure_of
    from app.cli.program import run

    try:
        code = run()
    except Exception as error:
        failure = failure_of(error)
        if failure is None:
            raise
        for line in failure.lines:
            complain(line)
        return failure.code
    if code == INTERRUPTED:
        complain("interrupted")
    return code
