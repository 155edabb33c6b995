"""Steps of one worker as `interlace parameter-server` reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Op = dict[str, Any]


@dataclass
class StepEvents:
    """When what happened in a step [s], by position of the tensor, on the worker's clock.

    Attributes
    ----------
    names, sizes
        Of the tensors [bytes].
    number
        Of the step, from 0.
    began, computed, ended
        Of the step: all parameters were asked for; the backward pass was over; all was confirmed.
    first
        When the first byte of each server came.
    arrived, copied
        When a parameter had come, and how long its copying to the model took.
    waits
        When the model began to wait for parameters, when they had come, and which.
    ready, taken
        When a gradient was to be sent; when the confirmation came, and how long its update took.
    """

    names: Sequence[str]
    sizes: Sequence[int]
    number: int = 0
    began: float = 0.0
    computed: float = 0.0
    ended: float = 0.0
    first: dict[int, float] = field(default_factory=dict)
    arrived: dict[int, float] = field(default_factory=dict)
    copied: dict[int, float] = field(default_factory=dict)
    waits: list[tuple[float, float, tuple[int, ...]]] = field(default_factory=list)
    ready: dict[int, float] = field(default_factory=dict)
    taken: dict[int, tuple[float, float]] = field(default_factory=dict)


class StepRecorder:
    """Keeps steps of a worker; record one that trains alone.

    Each step is a list of ops: parameters on the ``downlink``, gradients on the ``uplink``, what
    the worker computed between two waits or gradients, and what the servers did. A transfer has
    the times at which it was asked for and over, and how long its receiver then took to copy it
    (``parse_us``).
    """

    def __init__(self) -> None:
        self._steps: list[list[Op]] = []
        self._last_end: float | None = None

    def add(self, events: StepEvents, owners: Sequence[int], servers: int) -> None:
        """Add a step, with what the worker did since the one before."""
        before = events.began if self._last_end is None else self._last_end
        if self._last_end is not None:  # the first step's loading of data is not known
            self._steps.append(list(_ops(events, owners, servers, before)))
        self._last_end = events.ended

    def document(self, name: str, batch_size: int, gbps: float | None = None) -> dict[str, Any]:
        """Return the recorded steps as a request.

        Parameters
        ----------
        name, batch_size
            Of what was trained.
        gbps
            What the links carry [Gbit/s], where it is known.
        """
        if not self._steps:
            raise ValueError(
                "No step is recorded; the first step after the recorder is set is not."
            )
        bandwidths = {} if gbps is None else {"bandwidths_gbps": [gbps]}
        steps = [{"ops": ops} for ops in self._steps]
        return {"name": name, "batch_size": batch_size, **bandwidths, "steps": steps}

    def write(
        self, path: str | Path, name: str, batch_size: int, gbps: float | None = None
    ) -> None:
        """Write :meth:`document` as JSON."""
        Path(path).write_text(json.dumps(self.document(name, batch_size, gbps)), encoding="utf-8")


def _ops(events: StepEvents, owners: Sequence[int], servers: int, before: float) -> Iterator[Op]:
    """List the ops of a step; times are from its beginning."""

    def us(seconds: float) -> float:
        return round((seconds - events.began) * 1e6, 3)

    def on(kind: str, server: int) -> str:
        return f"{kind}:ps{server}" if servers > 1 else kind

    yield _computed("between", events.began - before, [])
    for server, first in sorted(events.first.items()):
        yield {
            "id": f"request:ps{server}",
            "resource": on("server", server),
            "duration_us": us(first),
            "after": ["between"],
        }
    for i in sorted(events.arrived):
        yield {
            "id": f"pull:{events.names[i]}",
            "resource": on("downlink", owners[i]),
            "bytes": events.sizes[i],
            "start_us": us(events.first[owners[i]]),
            "end_us": us(events.arrived[i]),
            "parse_us": round(events.copied[i] * 1e6, 3),
            "after": [f"request:ps{owners[i]}"],
        }
    yield from _compute(events)
    for i in sorted(events.ready, key=events.ready.__getitem__):
        confirmed, took = events.taken[i]
        yield {
            "id": f"push:{events.names[i]}",
            "resource": on("uplink", owners[i]),
            "bytes": events.sizes[i],
            "start_us": us(events.ready[i]),
            "end_us": us(confirmed - took),
            "parse_us": 0.0,
            "after": [f"compute:{events.names[i]}"],
        }
        yield {
            "id": f"update:{events.names[i]}",
            "resource": on("server", owners[i]),
            "duration_us": round(took * 1e6, 3),
            "after": [f"push:{events.names[i]}"],
        }


def _compute(events: StepEvents) -> Iterator[Op]:
    """List what the worker computed: up to each wait for parameters, and up to each gradient."""
    marks: list[tuple[float, float, str, tuple[int, ...]]] = [
        (begin, end, f"(wait {n})", tensors) for n, (begin, end, tensors) in enumerate(events.waits)
    ]
    marks += [(time, time, events.names[i], ()) for i, time in events.ready.items()]
    marks.append((events.computed, events.computed, "(end)", ()))
    since, after, copies = events.began, ["between"], 0.0
    for begin, end, name, tensors in sorted(marks):
        yield _computed(f"compute:{name}", max(begin - since - copies, 0.0), after)
        after = [f"compute:{name}", *(f"pull:{events.names[i]}" for i in tensors)]
        since, copies = end, sum(events.copied[i] for i in tensors)


def _computed(name: str, seconds: float, after: Sequence[str]) -> Op:
    return {
        "id": name,
        "resource": "worker",
        "duration_us": round(seconds * 1e6, 3),
        "after": [*after],
    }
