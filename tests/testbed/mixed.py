"""A worker of a job beside others, which does what its standard input says.

`python -m tests.testbed.mixed` reads a line of JSON for each thing to do, and answers with one.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from interlace_client.torch.calibration import calibrate
from tests.testbed.jobs import Job, sleeping_job
from tests.testbed.kernel import computing_first, end_with_parent, sharpen_timers
from tests.testbed.layers import shrunk
from tests.testbed.plans import Launches, Question, planned, whole
from tests.testbed.rounds import WARM_UP
from tests.testbed.runtimes import Planned
from tests.testbed.worker import capture_job, from_first, slowdown_of

#: Sizes whose launches are measured, beside that of all gradients: one that is all start-up, and
#: some between [bytes].
_SIZES = (2**10, 2**14, 2**18)
#: After which a worker that waits for another gives up.
_TIMEOUT = timedelta(minutes=2)


class MixedWorker:
    """A worker of one job: it learns what it trains, and trains it on the terms that it is told."""

    def __init__(self) -> None:
        self._runtime: Planned | None = None

    def learn(self, cell: dict[str, Any]) -> dict[str, Any]:
        """Make a job; where its launches are not given, calibrate, capture and plan it first.

        No other job sends meanwhile. Answers with what was found.
        """
        made = shrunk(cell["model"], cell["bytes"])
        job = sleeping_job(made, cell["compute_us"], dist.get_rank())
        sizes = {name: each.nbytes for name, each in job.model().named_parameters()}
        found: dict[str, Any] = {}
        if cell["launches"] is None:
            found = _found(job, made.bytes, cell)
        launches = Launches.of(cell["launches"] or found["launches"])
        self._runtime = Planned(job, launches, sizes, dist.group.WORLD)
        for _ in range(WARM_UP):
            self._runtime.step()
        return found

    def train(self, cell: dict[str, Any]) -> dict[str, Any]:
        """Train so many steps from a time on; answer with when each ended, from then on [us]."""
        assert self._runtime is not None
        module, start_us, begin_us = self._runtime.module, cell["start_us"], cell["begin_us"]
        module.phase = None
        if cell["period_us"] is not None:
            period_us = cell["period_us"]
            module.hold_phase((start_us + begin_us) % period_us, period_us)
        dist.barrier()
        with computing_first():
            time.sleep(max(0.0, (start_us + begin_us) / 1e6 - time.time()))
            ends = [_now_us() - start_us]
            for _ in range(cell["steps"]):
                self._runtime.step()
                ends.append(_now_us() - start_us)
        held = module.phase
        return {
            "ends_us": ends,
            "waits": held.aligned if held else 0,
            "waited_us": held.waited_us if held else 0.0,
        }


def main() -> None:
    """Go through what there is to do until the input ends."""
    end_with_parent()
    sharpen_timers()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=_TIMEOUT)
    worker = MixedWorker()
    _say({"is_ready": True})
    for line in sys.stdin:
        cell = json.loads(line)
        _say({"learn": worker.learn, "train": worker.train}[cell["do"]](cell))


def _found(job: Job, size: int, cell: Mapping[str, Any]) -> dict[str, Any]:
    """Calibrate and capture a job, and say what it sends."""
    group = dist.group.WORLD
    cluster = calibrate(group, (*_SIZES, size), limit_s=cell["calibration_s"]).cluster
    recording = capture_job(job)
    question = Question(recording.graph, {**cluster, "compute_slowdown": slowdown_of(job, group)})
    names = list(question.sizes())
    launches = from_first(
        lambda: (
            whole([names], question.sizes(), barrier=True)
            if cell["is_whole"]
            else planned(question, barrier=True)
        )
    )
    return {
        "graph": recording.graph,
        "cluster": question.cluster,
        "launches": asdict(launches),
        "forward_us": recording.forward_us,
    }


def _now_us() -> float:
    return time.time_ns() / 1e3


def _say(event: dict[str, Any]) -> None:
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main()
