"""How processes end; a module of its own, as a Dask worker needs no more of the service."""

import signal


def reason_of(code: int | None) -> str:
    """Say how a process ended."""
    if code is None:
        return "unseen"
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"
