"""A link that becomes half as fast in the middle of a run, which is kept on its best plan."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch.distributed as dist

from interlace_client.torch import Planner
from interlace_client.torch.drift import Steering
from tests.testbed.jobs import Job
from tests.testbed.plans import Launches, Question
from tests.testbed.rounds import WARM_UP
from tests.testbed.runtimes import Planned, Runtime

#: Steps before the change and with the plan of reference, and steps after the change.
STEPS, AFTER = 20, 60
#: How long a search for another plan may take [s].
_SEARCH_S = 2.0


class Beside:
    """Has the command make plans at the priority of ordinary programs, in a thread of its own."""

    def plan(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Plan as :class:`Planner` does."""
        _be_ordinary()
        return Planner(time_limit_s=_SEARCH_S).plan(*arguments, **options)

    def simulate(self, *arguments: Any, **options: Any) -> float:
        """Simulate as :class:`Planner` does."""
        _be_ordinary()
        return Planner(time_limit_s=_SEARCH_S).simulate(*arguments, **options)


def halve(
    job: Job,
    graph: Mapping[str, Any],
    group: Any,
    calibrated: Callable[[], dict[str, Any]],
    plan: Callable[[Question], Launches],
    slow_down: Callable[[], None],
) -> dict[str, Any]:
    """Train through the change, steered; then with the plan that is made for the new link.

    Parameters
    ----------
    job, graph
        What is trained, and what was captured of it.
    group
        The group that trains.
    calibrated
        Measures the cluster as it is.
    plan
        Plans on all workers alike, each parameter waiting for its own bucket.
    slow_down
        Makes this worker's link half as fast.

    Returns
    -------
    dict
        ``phases_us``: the time of each step ``before`` the change, ``after`` it, and ``anew``:
        under the plan that is made when costs have been calibrated again. ``taken``: the plans
        that the run took after the change: after how many steps, and why.
    """
    question = Question(graph, calibrated())
    runtime = Planned(job, plan(question), question.sizes(), group)
    _times(runtime, WARM_UP)
    with Steering(runtime.module, Beside(), graph, question.cluster) as steering:
        phases = {"before": _times(runtime, STEPS)}
        slow_down()
        dist.barrier()
        phases["after"] = _times(runtime, AFTER)
    taken = [
        {"after": each.from_step - STEPS, "why": each.why, "sentence": each.sentence}
        for each in steering.taken[1:]
    ]
    runtime.drain()
    runtime.install(plan(Question(graph, calibrated())))
    _times(runtime, WARM_UP)
    phases["anew"] = _times(runtime, STEPS)
    runtime.drain()
    runtime.close()
    return {"phases_us": phases, "taken": taken}


def _be_ordinary() -> None:
    """Give up this thread's real-time priority, and so that of what it starts."""
    assert threading.current_thread() is not threading.main_thread(), "the workers' own keeps it"
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _times(runtime: Runtime, steps: int) -> list[float]:
    """Train, and time each step [us]."""
    marks = [time.perf_counter()]
    for _ in range(steps):
        runtime.step()
        marks.append(time.perf_counter())
    return [(end - begin) * 1e6 for begin, end in pairwise(marks)]
