"""Recorded steps of workers as a Chrome trace, which Perfetto opens."""

from collections.abc import Sequence
from typing import Any

from solver.parameter_server.run import StepsRun
from solver.parameter_server.steps import Step


def steps_trace(steps: Sequence[Step], run: StepsRun) -> dict[str, Any]:
    """Lay out the services of a run: a process for each worker, in it a thread for each resource.

    Parameters
    ----------
    steps
        The profiled steps that were run (after :func:`solver.parameter_server.throughput.prepare`).
    run
        With recorded services.
    """
    raise NotImplementedError
