"""What is told of a run: its plans, and what each step took beside what it should have taken."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from interlace_client import Client, Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Why a run takes a plan.
START, DRIFT, BETTER = "start", "drift", "better_plan"
#: Steps are sent to a service when the last were sent so long ago [s], and so many at once.
_EVERY_S, _BATCH = 2.0, 1000


@dataclass(frozen=True)
class Taken:
    """A plan that a run takes.

    Attributes
    ----------
    from_step
        The first step under it, from 0.
    why
        ``start``, ``drift`` or ``better_plan``.
    sentence
        The same in words.
    plan
        Buckets and schedule.
    predicted_us
        What a step should take [us]; None where nobody has simulated it.
    graph, cluster
        What that is said for.
    barrier
        Whether the optimizer's step waits for all buckets.
    """

    from_step: int
    why: str
    sentence: str
    plan: Mapping[str, Any]
    predicted_us: float | None
    graph: Mapping[str, Any]
    cluster: Mapping[str, Any]
    barrier: bool


class History(Protocol):
    """Hears of a run from its first rank, in a thread that the training does not wait for."""

    def take(self, taken: Taken) -> None:
        """Hear of a plan; the first one is what the run begins with."""

    def tried(self, trial: Mapping[str, Any]) -> None:
        """Hear what a trial came to: of Steering's own, or before it; after the plan it kept."""

    def report(self, steps: Sequence[Step]) -> None:
        """Hear of steps, in ascending order."""

    def end(self, why: str) -> None:
        """Hear that the run is over."""


class HistoryFile:
    """A file of JSON objects, one a line: ``{"plan": ...}``, ``{"step": ...}``, ``{"end": ...}``.

    ``{"trial": ...}`` is there where there was one. A file that is there goes on.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def take(self, taken: Taken) -> None:
        """Write a plan."""
        self._write([{"plan": asdict(taken)}])

    def tried(self, trial: Mapping[str, Any]) -> None:
        """Write a trial."""
        self._write([{"trial": dict(trial)}])

    def report(self, steps: Sequence[Step]) -> None:
        """Write steps."""
        self._write([{"step": asdict(step)} for step in steps])

    def end(self, why: str) -> None:
        """Write that the run is over."""
        self._write([{"end": why}])

    def _write(self, told: Sequence[Mapping[str, Any]]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(each) + "\n" for each in told)


class ServiceRun:
    """A run at an Interlace service, ``/v1/runs``.

    Parameters
    ----------
    url
        Of the service.
    name
        Of the run.
    runtime
        What executes the plans.

    Attributes
    ----------
    id
        Of the run; None before the service has it.
    """

    def __init__(self, url: str, name: str = "training", runtime: str = "PlannedDDP") -> None:
        self._client = Client(url)
        self._name, self._runtime = name, runtime
        self._waiting: list[Step] = []
        self._sent = monotonic()
        self.id: str | None = None

    def take(self, taken: Taken) -> None:
        """Start the run, or tell of another plan."""
        if self.id is None:
            run = self._client.start_run(
                taken.graph,
                cluster=taken.cluster,
                plan=taken.plan,
                barrier=taken.barrier,
                predicted_us=taken.predicted_us,
                name=self._name,
                runtime=self._runtime,
            )
            self.id = run.id
            return
        self._send()
        self._client.report_plan(
            self.id,
            taken.plan,
            from_step=taken.from_step,
            why=taken.why,
            predicted_us=taken.predicted_us,
            graph=taken.graph,
            cluster=taken.cluster,
        )

    def tried(self, trial: Mapping[str, Any]) -> None:
        """Tell of a trial."""
        if self.id is not None:
            self._client.report_trial(self.id, trial)

    def report(self, steps: Sequence[Step]) -> None:
        """Keep steps, and send them every few seconds."""
        self._waiting += steps
        if monotonic() - self._sent > _EVERY_S:
            self._send()

    def end(self, why: str) -> None:
        """Send what is left, and end the run."""
        if self.id is not None:
            self._send()
            self._client.end_run(self.id, why)
        self._client.close()

    def _send(self) -> None:
        if self.id is None:
            return
        while self._waiting:
            batch = self._waiting[:_BATCH]
            self._client.report_steps(self.id, batch)
            del self._waiting[: len(batch)]
        self._sent = monotonic()


def history_at(where: str | Path | History | None) -> History | None:
    """Return the history at a service's URL or in a file."""
    if isinstance(where, Path):
        return HistoryFile(where)
    if isinstance(where, str):
        is_url = where.startswith(("http://", "https://"))
        return ServiceRun(where) if is_url else HistoryFile(where)
    return where
