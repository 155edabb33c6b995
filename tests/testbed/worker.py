"""One worker of a session: calibrates, captures, plans with the others, and measures.

Worker 0 prints what came out, a line of JSON for each cell.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import timedelta
from statistics import fmean
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from interlace_client.torch import PlannedDDP
from interlace_client.torch.calibration import calibrate
from interlace_client.torch.capture import capture, measure_overlap, measure_slowdown
from tests.ending import leave
from tests.testbed import pacing
from tests.testbed.halving import halve
from tests.testbed.hosts import Host, shape
from tests.testbed.jobs import REAL, Job, real_job, sleeping_job
from tests.testbed.kernel import computing_first, end_with_parent, sharpen_timers
from tests.testbed.layers import shrunk
from tests.testbed.plans import Question, each_alone, exported, launch_time, planned, whole
from tests.testbed.rounds import WARM_UP, measure
from tests.testbed.runtimes import ALIKE, RUNTIMES, Plans
from tests.testbed.sessions import HALVING, TRIALS, Session
from tests.testbed.trials import try_out, window_of

#: After which a worker that waits for another gives up.
_TIMEOUT = timedelta(minutes=2)
_CAPTURED_STEPS, _SLOWED_STEPS = 5, 3


def main() -> None:
    """Be the worker that the environment says, of the session in the first argument."""
    end_with_parent()
    sharpen_timers()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=_TIMEOUT)
    work(Session(**json.loads(sys.argv[1])))
    dist.barrier()
    leave()


def work(session: Session) -> None:
    """Do what the session says, with the others."""
    rank = dist.get_rank()
    ring = pacing.Ring(dist.get_world_size(), session.mbit)
    group = _group(session, ring)
    if session.model == REAL:
        job = real_job(rank)
        size = sum(parameter.nbytes for parameter in job.model().parameters())
        if session.part == TRIALS:
            _say(cell=_trials(session, job, None, size, group))
            return
        cluster = _calibrate(group, size, session.calibration_s)
        _say(cell=_cell(session, job, None, cluster, group))
        return
    made = shrunk(session.model, session.bytes)
    cluster = _calibrate(group, made.bytes, session.calibration_s)
    for ratio in session.ratios:
        job = sleeping_job(made, launch_time(cluster, made.bytes) / ratio, rank)
        if session.part == TRIALS:
            _say(cell=_trials(session, job, ratio, made.bytes, group))
        elif session.part == HALVING:
            halved = halve(
                job,
                capture_job(job).graph,
                group,
                calibrated=lambda: _calibrate(group, made.bytes, session.calibration_s),
                plan=lambda question: from_first(lambda: planned(question, barrier=False)),
                slow_down=lambda: _slow_down(session, ring),
            )
            _say(cell={"model": session.model, "ratio": ratio, **halved})
        else:
            _say(cell=_cell(session, job, ratio, cluster, group))


def _group(session: Session, ring: pacing.Ring) -> Any:
    """Return the group that trains: the default one where the network is slow by itself."""
    if not session.is_paced:
        return dist.group.WORLD
    pacing.register(ring)
    return dist.new_group(backend=pacing.PACED)


def _calibrate(group: Any, size: int, limit_s: float) -> dict[str, Any]:
    """Measure what launches of up to ``size`` bytes cost."""
    calibration = calibrate(group, size, limit_s=limit_s)
    _say(calibrated={"cluster": calibration.cluster, "notes": calibration.notes})
    return calibration.cluster


def _slow_down(session: Session, ring: pacing.Ring) -> None:
    """Make this worker's link half as fast."""
    ring.mbit = session.mbit / 2
    if not session.is_paced:
        shape(Host(None, os.environ["GLOO_SOCKET_IFNAME"], ""), ring.mbit)


def _cell(
    session: Session, job: Job, ratio: float | None, cluster: Mapping[str, Any], group: Any
) -> dict[str, Any]:
    """Capture a job, plan it, and measure all runtimes."""
    recording = capture_job(job)
    question = Question(recording.graph, {**cluster, "compute_slowdown": slowdown_of(job, group)})
    plans = from_first(lambda: _plans(question))
    load = os.getloadavg()[0]
    if job.rest:
        job.rest.late_us.clear()
    every = RUNTIMES | ALIKE
    runtimes = {name: every[name](job, plans, group) for name in session.runtimes}
    with computing_first():
        times = measure(runtimes, session.rounds, session.steps, is_exact=job.rest is not None)
    launches = {name: asdict(runtime.launches()) for name, runtime in runtimes.items()}
    for runtime in runtimes.values():
        runtime.close()
    return {
        "model": session.model,
        "ratio": ratio,
        "cluster": question.cluster,
        "graph": recording.graph,
        "alone_us": recording.compute_us,
        "load": load,
        "late_us": fmean(job.rest.late_us) if job.rest else None,
        "runtimes": {
            name: {"launches": launches[name], "times_us": times[name]} for name in runtimes
        },
    }


def _trials(
    session: Session, job: Job, ratio: float | None, size: int, group: Any
) -> dict[str, Any]:
    """Plan a job as a user does, and try the plan."""
    windows = window_of(job, group)
    step = step_of(job, model := job.model(), job.optimizer(model.parameters()))
    overlap = measure_overlap(model, step, _SLOWED_STEPS, group, window=windows.window)
    recording = capture_job(job).with_overlap(overlap)
    limit_s = session.calibration_s
    calibration = calibrate(group, size, limit_s=limit_s, window=windows.window)
    return {
        "model": session.model,
        "ratio": ratio,
        "mbit": session.mbit,
        "windows_us": dict(windows.median_us),
        "overlap": asdict(overlap),
        "load": os.getloadavg()[0],
        "trials": try_out(job, recording, calibration, group, session.rounds, windows.window),
    }


def capture_job(job: Job) -> Any:
    """Record steps on all workers at once, each in a group of its own.

    PlannedDDP then sends nothing, but its hooks and copies take their time, as those of
    DistributedDataParallel do: in the graph they are a part of compute.
    """
    alone = dist.new_group([dist.get_rank()], use_local_synchronization=True)
    model = job.model()
    optimizer = job.optimizer(model.parameters())
    module = PlannedDDP(model, optimizer, barrier=True, process_group=alone)
    step = step_of(job, module, optimizer)
    for _ in range(WARM_UP):
        step()
    dist.barrier()
    recording = capture(module, step, optimizer, steps=_CAPTURED_STEPS)
    module.detach()  # its group stays: PyTorch would give its name to the next, with stale keys
    return recording


def slowdown_of(job: Job, group: Any) -> float:
    """Measure how many times longer compute takes beside communication."""
    step = step_of(job, model := job.model(), job.optimizer(model.parameters()))
    return measure_slowdown(model, step, _SLOWED_STEPS, group)


def step_of(job: Job, module: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    """Return what trains one step."""

    def step() -> None:
        job.loss(module).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def _plans(question: Question) -> Plans:
    barrier, alone = planned(question, barrier=True), each_alone(question)
    names = [name for bucket in alone.buckets for name in bucket]
    return Plans(
        sizes=question.sizes(),
        free=planned(question, barrier=False),
        barrier=barrier,
        alone=alone,
        together=whole([names], question.sizes(), barrier=True),
        program=exported(question, barrier),
    )


def from_first(make: Callable[[], Any]) -> Any:
    """Have worker 0 make something that all workers take; what it raises, all raise."""
    made: list[Any] = [None]
    if dist.get_rank() == 0:
        try:
            made = [make()]
        except Exception as error:  # noqa: BLE001 - the others must not wait for it
            made = [error]
    dist.broadcast_object_list(made, src=0)
    if isinstance(made[0], Exception):
        raise made[0]
    return made[0]


def _say(**event: Any) -> None:
    if dist.get_rank() == 0:
        print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main()
