"""The client that blocks.

Made of the client for asyncio by ``python -m app.write_client``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from interlace_client import asking, reporting, wire
from interlace_client.jobs import PLANS, SIMULATIONS, SWEEPS
from interlace_client.options import How
from interlace_client.sending import Send, Sleep, Tries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from interlace_client.answers import (
        Json,
        Placements,
        Plan,
        Ranking,
        Run,
        RunPage,
        RunPlan,
        RunTrial,
        Simulation,
        Step,
        Sweep,
        Throughput,
    )
    from interlace_client.bodies import Files, Graph, PlanOrId
    from interlace_client.imported_graph import ImportedGraph
    from interlace_client.jobs import Job, Kind, Page
    from interlace_client.options import (
        Importing,
        Listener,
        Placing,
        Planning,
        PredictingParameterServer,
        RankingShapes,
        Simulating,
        Starting,
        Sweeping,
        TakingOver,
        WaitOptions,
    )
    from interlace_client.reporting import RunOrId
    from interlace_client.sending import Answer, Lost, Steps

T = TypeVar("T")


class Client:
    """A service; each call returns when it is answered. Safe for several threads.

    Every POST carries an ``Idempotency-Key``: what was lost on the way is sent again and is still
    one job.

    Parameters
    ----------
    base_url
        Of the service, such as ``http://127.0.0.1:8000``; may end with a path.
    api_key
        Of a service that wants keys; ``INTERLACE_API_KEY`` of the environment when left out.
    timeout
        How long the service may take to connect, to read and to answer, each, besides the time that
        it was asked to wait [s].
    retries
        How often a request is sent again that found no answer, or a service too busy (408, 429,
        502, 503, 504): after half a second, then ever later, or when ``Retry-After`` says.
    transport
        Of httpx, instead of the network.

    Raises
    ------
    ValueError
        When ``base_url`` is no URL of http or https, or the key holds what no header can.

    Notes
    -----
    Every method may raise :class:`Unreachable`, :class:`UnexpectedAnswer` and the
    :class:`ProblemError` of what the service says; those that wait :class:`WaitTimeout` and
    :class:`Cancelled` too. What they take besides is in :mod:`interlace_client.options`.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 10,
        retries: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._tries = Tries(timeout, retries)
        self._http = httpx.Client(
            base_url=wire.checked(base_url),
            headers=wire.headers_of(api_key),
            transport=transport,
        )

    def plan(
        self,
        graph: Graph,
        *,
        cluster: Mapping[str, Any],
        **fields: Unpack[Planning],
    ) -> Plan:
        """Plan an iteration of a graph, or of a stored one by its id."""
        return self._done(asking.make(PLANS, graph, cluster, fields, self._tries))

    def simulate(
        self, graph: Graph, *, cluster: Mapping[str, Any], **fields: Unpack[Simulating]
    ) -> Simulation:
        """Simulate an iteration under a policy or a plan."""
        return self._done(asking.make(SIMULATIONS, graph, cluster, fields, self._tries))

    def sweep(
        self, graph: Graph, *, cluster: Mapping[str, Any], **fields: Unpack[Sweeping]
    ) -> Sweep:
        """Compare policies on many clusters."""
        return self._done(asking.make(SWEEPS, graph, cluster, fields, self._tries))

    def predict_parameter_server(
        self,
        *,
        batch_size: int,
        **fields: Unpack[PredictingParameterServer],
    ) -> Throughput:
        """Predict training through parameter servers from profiled steps or a graph."""
        given = {"batch_size": batch_size, **fields}
        return self._done(asking.predict_parameter_server(given, self._tries))

    def rank_shapes(
        self,
        *,
        model: str | Mapping[str, Any],
        gpu: str | Mapping[str, Any],
        gpus: int,
        levels: Sequence[Mapping[str, Any]],
        global_batch: int,
        **fields: Unpack[RankingShapes],
    ) -> Ranking:
        """Rank the parallelisms of a model on a cluster; cancelled, a job keeps the best so far."""
        job: dict[str, Any] = {"model": model, "gpu": gpu, "gpus": gpus, "levels": levels}
        given = {**job, "global_batch": global_batch, **fields}
        return self._done(asking.rank_shapes(given, self._tries))

    def placements(self, graph: Graph | None = None, **fields: Unpack[Placing]) -> Placements:
        """Compare placements of parameter servers for a graph, or for a model that fields say."""
        return self._done(asking.placements(graph, fields, self._tries))

    def import_graph(self, files: Files, **fields: Unpack[Importing]) -> ImportedGraph:
        """Read a file of another tool, or several of one recording, as a graph."""
        return self._done(asking.import_graph(files, fields, self._tries))

    def run(
        self,
        kind: Kind[T],
        request: Mapping[str, Any],
        **waiting: Unpack[WaitOptions],
    ) -> T:
        """Send a whole request, such as one of ``/v1/examples``, and wait for its result."""
        return self._done(asking.run(kind, request, How(**waiting), self._tries))

    def submit(
        self,
        kind: Kind[T],
        request: Mapping[str, Any],
        *,
        tags: Sequence[str] = (),
        use_stored: bool = True,
        idempotency_key: str | None = None,
    ) -> Job[T]:
        """Send a whole request; do not wait for its result."""
        how = How(tags=tags, use_stored=use_stored, idempotency_key=idempotency_key)
        return self._done(asking.submit(kind, request, how, self._tries))

    def wait(
        self,
        job: Job[T],
        *,
        on_progress: Listener | None = None,
        timeout_s: float | None = None,
        cancel_on_timeout: bool = False,
    ) -> T:
        """Wait for the result of a job."""
        how = How((), on_progress, timeout_s, cancel_on_timeout=cancel_on_timeout)
        return self._done(asking.wait(job, how, self._tries))

    def get(self, kind: Kind[T], job_id: str) -> Job[T]:
        """Find a job by its id."""
        return self._done(asking.get(kind, job_id, self._tries))

    def cancel(self, job: Job[T]) -> Job[T]:
        """Cancel a job; return what it is then, with the best so far if there is one."""
        return self._done(asking.cancel(job, self._tries))

    def delete(self, job: Job[Any]) -> None:
        """Delete a job with its result; one that runs is cancelled first."""
        self._done(asking.delete(job, self._tries))

    def list(
        self,
        kind: Kind[T],
        *,
        limit: int | None = None,
        cursor: str | None = None,
        states: Sequence[str] = (),
        tag: str | None = None,
    ) -> Page[T]:
        """List jobs in brief, the newest first; ``cursor`` is that of the page before."""
        return self._done(asking.page(kind, limit, cursor, states, tag, self._tries))

    def start_run(
        self,
        graph: Graph,
        *,
        cluster: Mapping[str, Any],
        plan: PlanOrId,
        **fields: Unpack[Starting],
    ) -> Run:
        """Tell of a training job that begins to execute a plan."""
        return self._done(reporting.start(graph, cluster, plan, fields, self._tries))

    def report_steps(self, run: RunOrId, steps: Sequence[Step]) -> int:
        """Report steps in ascending order; return how many of them were not reported before."""
        return self._done(reporting.report_steps(run, steps, self._tries))

    def report_plan(
        self,
        run: RunOrId,
        plan: PlanOrId,
        *,
        from_step: int,
        why: str,
        **fields: Unpack[TakingOver],
    ) -> RunPlan:
        """Tell that a run executes another plan from a step on, and why."""
        given = {"from_step": from_step, "why": why, **fields}
        return self._done(reporting.report_plan(run, plan, given, self._tries))

    def report_trial(self, run: RunOrId, trial: Mapping[str, Any]) -> RunTrial:
        """Tell what was promised of a plan, what was measured, and what goes on."""
        return self._done(reporting.report_trial(run, trial, self._tries))

    def end_run(self, run: RunOrId, why: str = "finished") -> Run:
        """Tell that a training job is over; a run that has ended stays as it is."""
        return self._done(reporting.end(run, why, self._tries))

    def read_run(self, run: RunOrId) -> Run:
        """Find a run, predicted beside measured, by its id."""
        return self._done(reporting.read(run, self._tries))

    def delete_run(self, run: RunOrId) -> None:
        """Delete a run with its plans and steps."""
        self._done(reporting.delete(run, self._tries))

    def delete_graph(self, graph_id: str) -> None:
        """Delete a graph that was imported; plans made with it stay."""
        self._done(asking.deleted_one("graphs", graph_id, self._tries))

    def delete_cost_model(self, model_id: str) -> None:
        """Delete a cost model; plans made with it stay."""
        self._done(asking.deleted_one("cost-models", model_id, self._tries))

    def runs(
        self, *, limit: int | None = None, cursor: str | None = None, states: Sequence[str] = ()
    ) -> RunPage:
        """List runs in brief, the newest first; ``cursor`` is that of the page before."""
        return self._done(reporting.page(limit, cursor, states, self._tries))

    def read(self, path: str) -> Json:
        """Get any JSON object of the service, such as ``/v1/examples/vgg16``."""
        return self._done(asking.read(path, self._tries))

    def post(self, path: str, request: Mapping[str, Any]) -> Json:
        """Post what makes no job: to ``/v1/predictions/scaling`` or ``/v1/cost-models``."""
        return self._done(asking.post(path, request, self._tries))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        """Return the client, which is closed at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def _done(self, steps: Steps[T]) -> T:
        """Do what the steps say; return what they come to."""
        came: Answer | Lost | None = None
        while True:
            try:
                todo = steps.send(came)
            except StopIteration as end:
                result: T = end.value
                return result
            came = None
            if isinstance(todo, Send):
                came = wire.exchange(self._http, todo)
            elif isinstance(todo, Sleep):
                time.sleep(todo.seconds)
            else:
                wire.tell(todo)
