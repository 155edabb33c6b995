"""Work that a service does for the command: posted, followed, cancelled by Ctrl-C.

Needs the client, which the command is quicker without: imported only where a server is named.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeVar
from urllib.parse import quote
from uuid import uuid4

import typer
from pydantic import ValidationError

from app.cli.failures import FAILED, CommandFailure, complain
from app.cli.interrupts import INTERRUPTED, interruptible
from app.cli.progress import Stage, following
from app.codes import code_of
from app.errors import InvalidRequest
from app.schemas.allocations import AllocationAnswer, AllocationRequest
from app.schemas.base import AnswerModel, RequestModel
from app.schemas.cost_models import CostModelAnswer, CostModelRequest
from app.schemas.estimates import EstimateAnswer, EstimateRequest
from app.schemas.imports import GraphOut
from app.schemas.mixes import MixAnswer, MixRequest
from app.schemas.parameter_servers import ParameterServerAnswer, ParameterServerRequest
from app.schemas.placement_answer import PlacementsAnswer
from app.schemas.placements import PlacementsRequest
from app.schemas.plans import PlanAnswer, PlanRequest
from app.schemas.predictions import PredictionAnswer, PredictionRequest
from app.schemas.problem import CheckedRequest, graph_json
from app.schemas.runs import RunOut
from app.schemas.shapes import ShapeAnswer, ShapeRequest, ShapeTimelineRequest
from app.schemas.simulations import SimulationAnswer, SimulationRequest
from app.schemas.sweeps import SweepAnswer, SweepRequest
from app.schemas.tuners import TunerAnswer, TunerRequest
from interlace_client import (
    IMPORTS,
    PARAMETER_SERVERS,
    PLANS,
    RANKINGS,
    SIMULATIONS,
    SWEEPS,
    Client,
    ImportedGraph,
    InterlaceError,
    Job,
    Kind,
    ProblemError,
    Progress,
    Unreachable,
)
from interlace_client.options import WaitOptions
from interlace_client.problems import NotFound, Unauthenticated
from solver.errors import Fault
from solver.graph import Graph
from solver.traces import TraceOptions
from solver.watchdog import WALL

T = TypeVar("T")
A = TypeVar("A", bound=AnswerModel)

Json = dict[str, Any]

#: What makes a job may take so long to be answered, and so much longer what makes none [s].
_ANSWER_S, _WORK_S = 10.0, 60.0

#: What has a page under its own id; its path on the page is that of the API.
_PAGES = (
    *(kind.name for kind in (PLANS, SIMULATIONS, SWEEPS, IMPORTS, PARAMETER_SERVERS, RANKINGS)),
    *("graphs", "cost-models"),
)

#: The fields of an op as graphs are printed here; the service keeps them in the order of letters.
_FIELDS = (
    "id",
    "kind",
    "duration_us",
    "stream",
    "slowdown",
    "bytes",
    "channel",
    "element_bytes",
    "fuse_key",
    "cut",
    "after",
)


class _IdKnown(Exception):
    """The id of a job is known; nothing more is waited for."""


class _Retries(logging.Handler):
    """Says on standard error that the client tries again."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


@dataclass(frozen=True)
class Server:
    """A service, and how its jobs are posted.

    Every method returns what its local counterpart does, and raises the same faults; whatever else
    goes wrong is a :class:`CommandFailure`.

    Attributes
    ----------
    url
        Where it is.
    tags
        Words by which lists find the jobs.
    is_fresh
        Whether an answer from storage will not do.
    """

    url: str
    tags: tuple[str, ...] = ()
    is_fresh: bool = False

    def plan(self, problem: CheckedRequest[PlanRequest], *, in_lines: bool = False) -> PlanAnswer:
        """Plan one training iteration; ``in_lines`` says in any case how far it is."""
        return self._solved(PLANS, problem.request, problem.graph, PlanAnswer, in_lines=in_lines)

    def simulate(self, problem: CheckedRequest[SimulationRequest]) -> SimulationAnswer:
        """Simulate one training iteration."""
        return self._solved(SIMULATIONS, problem.request, problem.graph, SimulationAnswer)

    def sweep(self, problem: CheckedRequest[SweepRequest]) -> SweepAnswer:
        """Compute all cells, and what follows from them."""
        return self._solved(SWEEPS, problem.request, problem.graph, SweepAnswer)

    def parameter_server(
        self, graph: Graph | None, request: ParameterServerRequest
    ) -> ParameterServerAnswer:
        """Predict training through parameter servers."""
        return self._solved(PARAMETER_SERVERS, request, graph, ParameterServerAnswer)

    def predict(self, graph: Graph | None, request: PredictionRequest) -> PredictionAnswer:
        """Predict a row for each worker count."""
        body = _body(request, graph)
        limit_s = WALL * request.time_limit_s + _WORK_S
        return self._posted("/v1/predictions/scaling", body, PredictionAnswer, limit_s)

    def place(self, graph: Graph | None, request: PlacementsRequest) -> PlacementsAnswer:
        """Compare the placements of parameter servers."""
        body = _body(request, graph)
        return self._posted("/v1/predictions/placements", body, PlacementsAnswer, _WORK_S)

    def calibrate(self, request: CostModelRequest) -> CostModelAnswer:
        """Fit a cost model, which the service keeps."""
        return self._posted("/v1/cost-models", _body(request), CostModelAnswer, _WORK_S)

    def estimate(self, request: EstimateRequest) -> EstimateAnswer:
        """Estimate costs from iteration times."""
        return self._posted("/v1/estimates", _body(request), EstimateAnswer, 10 * _WORK_S)

    def tuner(self, request: TunerRequest) -> TunerAnswer:
        """Compare measured algorithms of NCCL."""
        return self._posted("/v1/exports/nccl-tuner", _body(request), TunerAnswer, _WORK_S)

    def allocate(self, request: AllocationRequest) -> AllocationAnswer:
        """Rank node sets for a job."""
        return self._posted("/v1/allocations", _body(request), AllocationAnswer, 10 * _WORK_S)

    def shape(self, request: ShapeRequest, *, in_lines: bool = False) -> ShapeAnswer:
        """Rank the shapes of a job."""
        return self._solved(RANKINGS, request, None, ShapeAnswer, in_lines=in_lines)

    def shape_timeline(self, request: ShapeTimelineRequest) -> dict[str, Any]:
        """Draw a step of one shape."""
        with self._explaining(), self._client(10 * _WORK_S) as client:  # shape() has checked it
            return client.post("/v1/shapes/timeline", _body(request))

    def mix(self, request: MixRequest) -> MixAnswer:
        """Plan jobs that share links together."""
        return self._posted("/v1/mixes", _body(request), MixAnswer, 10 * _WORK_S)

    def read_run(self, run: str) -> RunOut:
        """Find a run by its id."""
        with self._explaining(), self._client() as client:
            self._check()
            return self._as(RunOut, client.read_run(run).raw)

    def read_compared(self, name: str) -> PlanAnswer | SweepAnswer:
        """Find a sweep or a plan by its id."""
        with self._explaining(), self._client() as client:
            self._check()
            if _is_there(client, f"/v1/sweeps/{quote(name, safe='')}"):
                return self._ended(client.get(SWEEPS, name), "sweep", SweepAnswer)
            return self._ended(client.get(PLANS, name), "plan", PlanAnswer)

    def _ended(self, job: Job[Any], what: str, model: type[A]) -> A:
        """Read the answer of a job, which must have one."""
        if job.result is None:
            self._give_up(f"{what} {job.id} is {job.state}")
        return self._as(model, job.raw)

    def page_of(self, name: str) -> str:
        """Find the address of the page of what an id names."""
        own = quote(name, safe="")
        with self._explaining(), self._client() as client:
            self._check()
            path = next((path for path in _PAGES if _is_there(client, f"/v1/{path}/{own}")), None)
        if path is None:
            self._give_up(f"has nothing of the id {name}")
        return f"{self.url.rstrip('/')}/{path}/{own}"

    def delete(self, kind: Literal["graph", "cost-model"], name: str) -> None:
        """Delete a graph or a cost model by its id."""
        with self._explaining(), self._client() as client:
            self._check()
            if kind == "graph":
                client.delete_graph(name)
            else:
                client.delete_cost_model(name)

    def read(
        self,
        files: Sequence[bytes],
        form: str | None,
        options: TraceOptions,
        parameters: str | None,
        *,
        in_lines: bool = False,
    ) -> GraphOut:
        """Read files of another tool as a graph, which the service keeps.

        ``parameters`` are those of the options as JSON.
        """

        def post(client: Client, waiting: WaitOptions) -> ImportedGraph:
            content = files[0] if len(files) == 1 else files
            query = {
                "format": form,
                "step": options.step,
                "rank": options.rank,
                "device": options.device,
                "parameters": parameters,
                "name": options.name,
            }
            return client.import_graph(content, **query, **waiting)  # type: ignore[arg-type]

        read = self._done(IMPORTS, post, in_lines=in_lines)
        graph = read.graph and {**read.graph, "ops": [*map(_in_order, read.graph["ops"])]}
        steps = None if read.steps is None else list(read.steps)
        told = {"id": read.id, "graph": graph, "report": read.report}
        return self._as(
            GraphOut, {**told, "cluster": read.cluster, "costs": list(read.costs), "steps": steps}
        )

    def _solved(
        self,
        kind: Kind[Any],
        request: RequestModel,
        graph: Graph | None,
        model: type[A],
        *,
        in_lines: bool = False,
    ) -> A:
        body = _body(request, graph)
        answer = self._done(
            kind, lambda client, waiting: client.run(kind, body, **waiting), in_lines=in_lines
        )
        return self._as(model, answer.raw)

    def _posted(self, path: str, body: Json, model: type[A], limit_s: float) -> A:
        """Post what makes no job; only once, for a cost model would be kept twice."""
        with self._explaining(), self._client(limit_s, retries=0) as client:
            self._check()
            return self._as(model, client.post(path, body))

    def _done(
        self, kind: Kind[Any], post: Callable[[Client, WaitOptions], T], *, in_lines: bool = False
    ) -> T:
        """Post a job and wait for its end; cancel it when the user interrupts."""
        waiting = WaitOptions(
            tags=self.tags, use_stored=not self.is_fresh, idempotency_key=f"{uuid4()}"
        )
        ids: list[str] = []
        with self._explaining():
            self._check()
        with interruptible():
            try:
                with (
                    self._explaining(),
                    self._client() as client,
                    following(in_lines=in_lines) as show,
                ):

                    def follow(progress: Progress) -> None:
                        ids[:] = [progress.job_id]
                        show(_stage(progress))

                    return post(client, WaitOptions(**waiting, on_progress=follow))
            except KeyboardInterrupt:
                try:
                    line = self._cancel(kind, post, waiting, ids)
                except KeyboardInterrupt:
                    line = "; ".join(["interrupted", *ids])
                raise CommandFailure(line, code=INTERRUPTED) from None

    def _cancel(
        self,
        kind: Kind[Any],
        post: Callable[[Client, WaitOptions], object],
        waiting: WaitOptions,
        ids: list[str],
    ) -> str:
        """Cancel a job; return what to say of it."""

        def note(progress: Progress) -> None:
            ids.append(progress.job_id)
            raise _IdKnown

        with self._explaining(INTERRUPTED), self._client(retries=0) as client:
            if not ids:  # the answer was on its way, perhaps: the same key is the same job
                with suppress(_IdKnown):
                    post(client, WaitOptions(**waiting, on_progress=note))
            if not ids:
                return "interrupted"
            job = client.cancel(client.get(kind, ids[0]))
            return f"{job.state}; {job.id}"

    def _client(self, timeout_s: float = _ANSWER_S, retries: int = 5) -> Client:
        log = logging.getLogger(Client.__module__.partition(".")[0])
        if not log.handlers:
            log.addHandler(_Retries())
        try:
            return Client(self.url, timeout=timeout_s, retries=retries)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--server") from None

    def _check(self) -> None:
        """See who is there, so that nobody waits for a server that is not."""
        with self._client(retries=0) as client:
            try:
                answer = client.read("/version")
            except Unreachable:
                raise
            except InterlaceError as error:
                self._give_up(f"does not answer as an Interlace service: {error}")
        if answer.get("name") != "interlace":
            self._give_up("is no Interlace service")

    @contextmanager
    def _explaining(self, code: int = FAILED) -> Iterator[None]:
        """Raise faults as work done here does; say in a line what else went wrong."""
        try:
            yield
        except ProblemError as error:
            if error.faults:
                faults = [
                    Fault(each.pointer, code_of(each.code), each.detail) for each in error.faults
                ]
                raise InvalidRequest(faults) from None
            hint = "; set INTERLACE_API_KEY" if isinstance(error, Unauthenticated) else ""
            self._give_up(f"{error}{hint}", code)
        except Unreachable as error:
            why = str(error).partition(": ")[2]  # the request stands before it
            self._give_up(f"cannot be reached: {why}", code)
        except InterlaceError as error:
            self._give_up(str(error), code)

    def _as(self, model: type[A], raw: Json) -> A:
        """Read an answer without the fields of its job."""
        fields = {name: raw[name] for name in model.model_fields if name in raw}
        try:
            return model.model_validate_json(json.dumps(fields))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = "".join(f"/{step}" for step in first["loc"])
            self._give_up(f"answers as another version does: at {place}, {first['msg']}")

    def _give_up(self, why: str, code: int = FAILED) -> NoReturn:
        shown = re.sub(r"//[^/]*@", "//", self.url)  # a password is not for logs
        raise CommandFailure(" ".join(f"{shown}: {why}".split()), code=code) from None


def _is_there(client: Client, path: str) -> bool:
    try:
        client.read(path)
    except NotFound:
        return False
    return True


def _stage(progress: Progress) -> Stage:
    """Return how far a job is; one that waits for its turn is in no phase."""
    is_queued = progress.state == "queued"
    phase = progress.state if is_queued else progress.phase or progress.state
    return Stage(phase, progress.completed, progress.total, progress.incumbent_us, progress.gap)


def _body(request: RequestModel, graph: Graph | None = None) -> Json:
    """Write a request with the fields that were set alone: labels of policies show them."""
    body = request.model_dump(mode="json", exclude={"graph"}, exclude_unset=True)
    return body if graph is None else {**body, "graph": graph_json(graph)}


def _in_order(op: Json) -> Json:
    return {name: op[name] for name in _FIELDS if name in op}
