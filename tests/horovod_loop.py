"""Horovod's loop run in virtual time, and the timeline that it would write: times in us."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil

from tests.horovod_events import HEAD, begin, cycle, end, named, tick

#: Bytes per us of a copy into the fusion buffer or out of it.
COPIES = 20_000
ENQUEUED = 20


@dataclass
class Job:
    """A job of several ranks; ``skews`` has how many times as long each rank's compute takes."""

    library: str = "NCCL"
    layers: int = 20
    forward: float = 20_000
    backward: float = 40_000
    update: float = 1_000
    sizes: list = field(default_factory=list)
    cycle: float = 1_000
    threshold: int = 64 << 20
    startup: float = 100
    rate: float = 3_000
    round_trip: float = 150
    skews: tuple = (1.0, 1.0)
    jitter: float = 0.0
    host: float = 1.0  # when a tensor is announced, as a share of when it is there
    cached: bool = False
    marked: bool = True
    steps: int = 4

    @property
    def blocking(self):
        return self.library != "NCCL"


def drawn(seed):
    """Draw a job: steps of 20 ms to 2 s, 2 to 8 ranks, any library."""
    draw = random.Random(seed)
    compute = 10 ** draw.uniform(4.2, 6.1)
    layers = draw.randint(3, 40)
    total = 10 ** draw.uniform(6, 8.7)
    shares = [draw.lognormvariate(0, 1.5) for _ in range(layers)]
    library = draw.choice(("NCCL", "NCCL", "MPI", "GLOO"))
    late = draw.random() < 0.3
    return Job(
        library=library,
        layers=layers,
        forward=compute * 0.3,
        backward=compute * 0.65,
        update=compute * 0.05,
        sizes=[4 * max(1, int(total * share / sum(shares) / 4)) for share in shares],
        cycle=draw.choice((1_000, 3_500, 5_000)),
        threshold=draw.choice((0, 2 << 20, 16 << 20, 64 << 20, 128 << 20)),
        startup=draw.uniform(20, 500),
        rate=total / compute * 10 ** draw.uniform(-0.7, 1),
        round_trip=draw.uniform(30, 400),
        skews=tuple(
            1 + (draw.uniform(0.05, 0.3) if late and rank == 1 else draw.uniform(0, 0.01))
            for rank in range(draw.choice((2, 4, 8)))
        ),
        jitter=draw.choice((0, 0.01)),
        host=draw.choice((1.0, 1.0, 0.2)) if library == "NCCL" else 1.0,
        cached=draw.random() < 0.5,
        marked=draw.random() < 0.5,
        steps=draw.randint(3, 5),
    )


class _Loop:
    """The loop of rank 0, which goes on from step to step."""

    def __init__(self, job):
        self.job, self.now, self.gpu = job, 0.0, 0.0
        self.events = [*HEAD]
        for number in range(job.layers):
            self.events += named(number + 1, f"DistributedAdam.grad.{number}.weight")

    def step(self, announced, there):
        """Reduce all tensors; ``announced`` has when each rank announces each one, ``there`` when
        its data is there. Return when the last one is reduced."""
        job = self.job
        left, last = set(range(job.layers)), 0.0
        seen: dict[int, list[int]] = {}
        while left:
            idle = max(0.0, min(min(announced[i]) for i in left) - self.now)
            self.now = start = self.now + ceil(idle / job.cycle) * job.cycle
            if job.marked:  # of those in which nothing is ready, the last one
                marks = (start - job.cycle, start) if idle else (start,)
                self.events += [cycle(round(at)) for at in marks]
            decided = self._negotiate(left, seen, announced, start)
            if seen:
                self.now += job.round_trip
            for buffer in _fused(decided, job.sizes, job.threshold):
                last = max(last, self._perform(buffer, there))
            left.difference_update(decided)
            self.now = max(self.now, start + job.cycle)
        return last

    def _negotiate(self, left, seen, announced, start):
        job, decided = self.job, []
        for i in sorted(left, key=lambda i: (min(announced[i]), -i)):
            ready = [rank for rank, at in enumerate(announced[i]) if at <= start]
            if not ready:
                continue
            if i not in seen:
                seen[i] = []
                self.events.append(begin(i + 1, "NEGOTIATE_ALLREDUCE", round(start)))
            for rank in ready:
                if rank not in seen[i]:
                    seen[i].append(rank)
                    at = round(start + job.round_trip * 0.8)
                    self.events += [] if job.cached else [tick(i + 1, rank, at)]
            if len(ready) == len(job.skews):
                decided.append(i)
                self.events.append(end(i + 1, round(start + job.round_trip)))
        return decided

    def _perform(self, buffer, there):
        job, pids = self.job, [i + 1 for i in buffer]
        size = sum(job.sizes[i] for i in buffer)
        took = job.startup + size / job.rate
        copy = size / COPIES if len(buffer) > 1 else 0.0
        start = at = self.now
        spans = []
        self.events += [begin(pid, "ALLREDUCE", round(start)) for pid in pids]
        if job.host < 1:
            self._wait(buffer, there, at)
            at = max(at, *(there[i] for i in buffer))
            self.now = at
        if not job.blocking:
            begins = max(at + ENQUEUED, self.gpu)
            spans, at = [("QUEUE", at, begins)], begins
        copies = ("MEMCPY_IN_FUSION_BUFFER", copy), ("MEMCPY_OUT_FUSION_BUFFER", copy)
        parts = (copies[0], (f"{job.library}_ALLREDUCE", took), copies[1])
        for name, time in parts if copy else parts[1:2]:
            spans.append((name, at, at + time))
            at += time
        for name, first, over in spans:
            self.events += [begin(pid, name, round(first)) for pid in pids]
            self.events += [end(pid, round(over)) for pid in pids]
        shapes = [f"[{job.sizes[i] // 4}]" for i in buffer]
        self.events += [end(p, round(at), shape) for p, shape in zip(pids, shapes, strict=True)]
        self.gpu = at
        self.now = at if job.blocking else self.now + ENQUEUED
        return at

    def _wait(self, buffer, there, at):
        """Each tensor waits for its own data and then for the others'."""
        for i in buffer:
            came, all_came = max(there[i], at), max(at, *(there[j] for j in buffer))
            self.events += [begin(i + 1, "WAIT_FOR_DATA", round(at)), end(i + 1, round(came))]
            self.events += [
                begin(i + 1, "WAIT_FOR_OTHER_TENSOR_DATA", round(came)),
                end(i + 1, round(all_came)),
            ]


def _fused(decided, sizes, threshold) -> Iterator[list]:
    part: list[int] = []
    held = 0
    for i in decided:
        if part and held + sizes[i] > threshold:
            yield part
            part, held = [], 0
        part.append(i)
        held += sizes[i]
    if part:
        yield part


def recorded(job, seed=0):
    """Run a job; return its timeline, and how long each step took that another one follows."""
    draw = random.Random(seed)
    loop, at, begins = _Loop(job), 0.0, []
    for _ in range(job.steps):
        factors = [skew * (1 + job.jitter * draw.uniform(-1, 1)) for skew in job.skews]
        ahead = [at + factor * (job.forward + job.update) for factor in factors]
        done = [(job.layers - i) / job.layers * job.backward for i in range(job.layers)]
        announced = [
            [first + job.host * factor * time for first, factor in zip(ahead, factors, strict=True)]
            for time in done
        ]
        there = [max(f + k * time for f, k in zip(ahead, factors, strict=True)) for time in done]
        begins.append(ahead[0])
        at = loop.step(announced, there)
    lengths = [after - before for before, after in pairwise(begins)]
    return json.dumps(loop.events).encode(), lengths


def layers_file(job):
    """The layers of a job on rank 0, as a profile without communication has them."""
    part = 1 / job.layers * job.skews[0]
    return json.dumps(
        {
            "layers": [
                {
                    "name": f"layer {i}",
                    "forward_us": job.forward * part,
                    "backward_us": job.backward * part,
                    "update_us": job.update * part,
                    "gradients": [[f"{i}.weight", job.sizes[i]]],
                }
                for i in range(job.layers)
            ]
        }
    ).encode()
