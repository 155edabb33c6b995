"""A plan that shows, draws and writes itself."""

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from app.cli.rendering.figures import counted
from app.schemas.explanations import ExplainedAnswer
from app.schemas.plans import PlanAnswer, PlanRequest
from app.schemas.problem import CheckedRequest
from interlace.inputs import read
from interlace.results.frames import chosen, frame
from interlace.results.html import shown
from interlace.results.pictures import plotted, svg
from interlace.results.tracks import Track, tracks_of
from solver.costs import Network
from solver.evidence.brief import Brief
from solver.evidence.headline import ComparedPlan, Headline
from solver.graph import Graph
from solver.planning.options import Options
from solver.planning.result import Plan as SolverPlan
from solver.planning.waits import bucket_waits
from solver.wording import ms

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class PlannedFor:
    """What a plan was made for.

    Attributes
    ----------
    graph
        As it was given, without a barrier of the options.
    network, options
        As they were used.
    request
        The same as it is posted; its cluster stands in for a network of other costs.
    runtime_s
        How long planning took [s].
    """

    graph: Graph
    network: Network
    options: Options
    request: PlanRequest
    runtime_s: float

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the request as it is posted: its classes are made when they are needed."""
        posted = self.request.model_dump_json(exclude={"graph"}, exclude_unset=True)
        return _restored, (self.graph, self.network, self.options, posted, self.runtime_s)


def _restored(
    graph: Graph, network: Network, options: Options, posted: str, runtime_s: float
) -> PlannedFor:
    request = read(PlanRequest, graph, None, json.loads(posted)).request
    return PlannedFor(graph, network, options, request, runtime_s)


@dataclass(frozen=True, slots=True, repr=False)
class Plan(SolverPlan):
    """A plan, which shows itself in notebooks, draws itself and is written as the service does.

    Attributes
    ----------
    planned_for
        The graph, the network and the options.
    memo
        What was computed of it and is asked for again; no part of its value.

    See Also
    --------
    solver.planning.result.Plan : The other attributes.

    Examples
    --------
    >>> import interlace
    >>> cluster = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}
    >>> plan = interlace.plan("two_layers", cluster)
    >>> plan
    <Plan of 'two layers': 8.400 ms, optimal, bound 8.400 ms, 2 buckets, 3 launches>
    >>> print(plan.brief.sentence)  # doctest: +ELLIPSIS
    Worth it: what you run, DDP, takes 8.750 ms, planned 8.400 ms without a barrier: 4.0 % less ...
    >>> interlace.from_json(interlace.to_json(plan)) == plan
    True
    """

    planned_for: PlannedFor | None = field(default=None, compare=False)
    memo: dict[str, Any] = field(init=False, default_factory=dict, compare=False)

    def __repr__(self) -> str:
        """Say in a line what it is."""
        return (
            f"<Plan of {self.graph.name!r}: {ms(self.iteration_time_us)}, {self.status}, "
            f"bound {ms(self.lower_bound_us)}, {counted(len(self.buckets), 'bucket')}, "
            f"{counted(len(self.parts), 'launch', 'launches')}>"
        )

    @property
    def headline(self) -> Headline:
        """What plans gain over what you run, under both barriers; made when first asked for."""
        return self._compared().headline

    @property
    def explained(self) -> ExplainedAnswer:
        """What limits it, and what would move it; made when first asked for."""
        if "explained" not in self.memo:
            from app.services.plans import explained_plan  # noqa: PLC0415 - takes time

            self.memo["explained"] = explained_plan(self._origin().network, self)
        found: ExplainedAnswer = self.memo["explained"]
        return found

    @property
    def brief(self) -> Brief | None:
        """The verdict with its figures, what limits it, what to do next; as the service says it.

        None where it is compared with nothing.
        """
        return self.answer().brief

    def answer(self) -> PlanAnswer:
        """Return the answer of ``POST /v1/plans``; made when first asked for."""
        if "answer" not in self.memo:
            from app.services.plan_answer import plan_answer  # noqa: PLC0415 - takes time

            origin = self._origin()
            problem = CheckedRequest(origin.graph, origin.request)
            self.memo["answer"] = plan_answer(
                problem, self, self.explained, None, None, origin.runtime_s, self._compared()
            )
        found: PlanAnswer = self.memo["answer"]
        return found

    def tracks(self) -> tuple[Track, ...]:
        """Return what you run and the plan as tracks."""
        from app.services.rivals import run_today  # noqa: PLC0415 - takes time

        name, ran_on, today = run_today(self.graph, self._origin().network)
        return (*tracks_of(ran_on, today, name), *tracks_of(self.graph, self.timeline, "plan"))

    def plot(self) -> "Figure":
        """Draw what you run above the plan, on one axis.

        Returns
        -------
        matplotlib.figure.Figure
            Which a notebook shows.

        Raises
        ------
        NotInstalled
            Without matplotlib, of the extra ``plots``.
        """
        return plotted(self.tracks(), self.graph.name, self.lower_bound_us)

    def to_pandas(self, table: str = "buckets") -> "pd.DataFrame":
        """Return a table as a data frame.

        Parameters
        ----------
        table
            ``buckets`` (``wait_us``: how long each lies ready and is not being sent), ``launches``
            or ``tensors``.

        Raises
        ------
        NotInstalled
            Without pandas.
        ValueError
            When there is no such table.
        """
        waits = bucket_waits(self.buckets, self.parts)
        tables = {
            "buckets": lambda: [
                asdict(each) | {"wait_us": waits[each.id]} for each in self.buckets
            ],
            "launches": lambda: map(asdict, self.parts),
            "tensors": lambda: map(asdict, self.explained.tensors or ()),
        }
        return frame(list(chosen(table, tables)()))

    def __interlace_plan__(self) -> dict[str, Any]:
        """Return what the runtime takes: ``PlannedDDP(model, optimizer, plan)``."""
        origin = self.planned_for
        workers = {} if origin is None else {"workers": origin.request.cluster.workers}
        return {
            "buckets": [asdict(bucket) for bucket in self.buckets],
            "schedule": {"parts": [asdict(part) for part in self.parts]},
            "request": {"cluster": workers},
        }

    def _repr_html_(self) -> str:
        """Show the first screen in a notebook."""
        found = self.brief
        said = [repr(self)] if found is None else found.sentences
        return shown(said, svg(self.tracks(), self.lower_bound_us))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle its value, without what was computed of it."""
        names = [name for name in self.__dataclass_fields__ if name != "memo"]
        return Plan, tuple(getattr(self, name) for name in names)

    def _origin(self) -> PlannedFor:
        assert self.planned_for is not None, "interlace.plan made it"
        return self.planned_for

    def _compared(self) -> ComparedPlan:
        if "compared" not in self.memo:
            from solver.planning.headline import comparison  # noqa: PLC0415 - takes time

            origin = self._origin()
            self.memo["compared"] = comparison(origin.graph, origin.network, origin.options, self)
        found: ComparedPlan = self.memo["compared"]
        return found
