"""The functions to begin with: each reads what it is given as a request, and calls the solver.

The solver's own functions take what is checked; these take what people have.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from app.schemas.plans import PlanRequest
from app.schemas.solver_objects import (
    NOT_POSTED,
    change_json,
    choice_json,
    options_json,
    scaling_json,
)
from interlace.inputs import (
    Asked,
    GraphInput,
    NetworkInput,
    faults_raised,
    read,
    read_each,
)
from interlace.results.plan import Plan, PlannedFor
from interlace.results.simulation import Simulation
from interlace.results.sweep import Sweep
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Cluster, Network
from solver.errors import Fault, InvalidOptions
from solver.evidence.headline import Headline
from solver.graph import Graph, with_barrier
from solver.planning.headline import headline as headline_checked
from solver.planning.options import Options
from solver.planning.plan import plan as plan_checked
from solver.planning.progress import SILENT, PlanProgress
from solver.policies import POLICIES
from solver.policies.choice import Choice, bind, choice_faults, resolve
from solver.simulation.engine import Noise, Policy, Timeline
from solver.simulation.engine import simulate as simulate_checked

if TYPE_CHECKING:
    from app.schemas.sweeps import SweepRequest
    from interlace.results.comparison import PlanComparison, SweepsCompared
    from solver.exports import Export
    from solver.prediction.passes import Passes
    from solver.prediction.scaling import ScalingOptions, ScalingRow
    from solver.prediction.sweep import Cell
    from solver.simulation.what_if import Change

#: A policy: its name, its JSON with parameters, or a choice.
PolicyInput = str | Mapping[str, Any] | Choice


def plan(
    graph: GraphInput,
    network: NetworkInput | None = None,
    options: Options | Mapping[str, Any] | None = None,
    progress: PlanProgress = SILENT,
) -> Plan:
    """Fuse, schedule, simulate, bound and compare.

    Parameters
    ----------
    graph
        A graph that was built, the name of an example such as ``"vgg16"``, JSON of a graph or of a
        request for a plan, the path of a file of such JSON or of a trace, or the paths of a trace's
        files.
    network
        A :class:`Cluster`, its JSON, or a network; None for the cluster that comes with the graph:
        of a request, an example or a trace.
    options
        :class:`Options`, or their JSON; None for those of the request that the graph stands in,
        else the defaults.
    progress
        Is told how it goes.

    Raises
    ------
    InvalidGraph, InvalidCluster, InvalidOptions
        With all faults, as the service lists them: pointer, code and words.
    InvalidRequest
        The same, where they are of several of these.
    InvalidTrace
        When a file is not readable.

    Examples
    --------
    >>> import interlace
    >>> interlace.plan("two_layers", {"workers": 8, "bandwidth_gbps": 10}, {"barrier": True})
    <Plan of 'two layers': 8.650 ms, optimal, bound 8.650 ms, 2 buckets, 2 launches>
    """
    fields = {} if options is None else {"options": _options(options)}
    asked = read(PlanRequest, graph, network, fields)
    if asked.request.what_if:
        detail = "What_if: a plan in Python is of one graph; change it with apply_changes."
        raise InvalidOptions([Fault("/what_if", FaultCode.EXTRA_FIELD, detail)])
    with faults_raised("/options"):
        chosen = _chosen(asked.request, options)
        began = time.perf_counter()
        found = plan_checked(asked.graph, asked.network, chosen, progress)
    took = round(time.perf_counter() - began, 6)
    origin = PlannedFor(asked.graph, asked.network, chosen, asked.request, took)
    own = {each.name: getattr(found, each.name) for each in dataclass_fields(found)}
    return Plan(**own, planned_for=origin)


def headline(
    graph: GraphInput,
    network: NetworkInput | None = None,
    options: Options | Mapping[str, Any] | None = None,
    found: Plan | None = None,
) -> Headline:
    """Compare plans with what you run, under PyTorch's barrier and without it.

    Parameters
    ----------
    graph, network, options
        As of :func:`plan`.
    found
        The plan of these, if it is made; None makes it.

    Raises
    ------
    InvalidGraph, InvalidCluster, InvalidOptions, InvalidRequest, InvalidTrace
        As :func:`plan` does.
    """
    fields = {} if options is None else {"options": _options(options)}
    asked = read(PlanRequest, graph, network, fields)
    with faults_raised("/options"):
        chosen = _chosen(asked.request, options)
        planned = plan_checked(asked.graph, asked.network, chosen) if found is None else found
        return headline_checked(asked.graph, asked.network, chosen, planned)


@overload
def compare(first: Plan, second: Plan) -> "PlanComparison": ...


@overload
def compare(first: Sweep, second: Sweep) -> "SweepsCompared": ...


def compare(first: Plan | Sweep, second: Plan | Sweep) -> "PlanComparison | SweepsCompared":
    """Set two plans or two sweeps side by side: figures, and what changed.

    Parameters
    ----------
    first, second
        Plans of :func:`plan`, or sweeps of :func:`sweep`.

    Returns
    -------
    PlanComparison or SweepsCompared
        Of plans what they differ in and which buckets changed, as ``GET /v1/comparisons`` answers;
        of sweeps the fastest of both on each cluster, as ``GET /v1/comparisons/sweeps`` does.

    Raises
    ------
    TypeError
        When one is a plan and the other a sweep.

    Examples
    --------
    >>> import interlace
    >>> cluster = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}
    >>> first = interlace.plan("two_layers", cluster, {"barrier": True})
    >>> interlace.compare(first, interlace.plan("two_layers", cluster))
    <PlanComparison: B takes 0.350 ms (4.0 %) less than A.>
    """
    from app.services.comparisons import compared  # noqa: PLC0415 - takes time
    from interlace.results.comparison import PlanComparison  # noqa: PLC0415

    if isinstance(first, Sweep) and isinstance(second, Sweep):
        return _compared_sweeps(first, second)
    if isinstance(first, Sweep) or isinstance(second, Sweep):
        raise TypeError("A sweep is compared with a sweep, a plan with a plan.")
    answer = compared(first.answer(), second.answer())
    return PlanComparison.model_construct(**dict(answer))


def _compared_sweeps(first: Sweep, second: Sweep) -> "SweepsCompared":
    from app.services.sweeps.compared import compared_cells  # noqa: PLC0415 - takes time
    from app.services.sweeps.run import cell_answer  # noqa: PLC0415
    from interlace.results.comparison import SweepsCompared  # noqa: PLC0415

    one, other = ([cell_answer(cell, each.policies) for cell in each] for each in (first, second))
    return SweepsCompared.model_construct(**dict(compared_cells(one, other)))


def simulate(
    graph: GraphInput,
    network: NetworkInput | None,
    policy: PolicyInput | Policy,
    noise: Noise | None = None,
) -> Simulation:
    """Run one iteration of a graph under a policy.

    Parameters
    ----------
    graph, network
        As :func:`plan` takes them; of a request for a plan the barrier counts, too.
    policy
        Its name, such as ``"ddp"``; its JSON, with parameters; a :class:`Choice`; or a policy,
        which is a function of :data:`POLICIES` or one of your own.
    noise
        How the iteration differs from what was planned for.

    Raises
    ------
    InterlaceError
        As :func:`plan` does.
    """
    from app.schemas.simulations import SimulationRequest  # noqa: PLC0415 - takes time, as below
    from app.services.simulations import policy_faults  # noqa: PLC0415

    if callable(policy):
        name = next((name for name, known in POLICIES.items() if known is policy), "wfbp")
        asked = read(SimulationRequest, graph, network, {"policy": name})
        if faults := list(policy_faults(asked.request, chain_of(asked.graph))):
            raise InvalidOptions(faults)
        ran = _waiting(asked.graph, has_barrier=asked.request.barrier)
        return _simulation(simulate_checked(ran, asked.network, policy, noise), ran)
    asked = read(SimulationRequest, graph, network, {"policy": choice_json(policy)})
    choice = asked.request.to_choice()
    assert choice is not None, "a policy is given"
    ran = _waiting(asked.graph, has_barrier=choice.barrier or asked.request.barrier)
    if faults := list(policy_faults(asked.request, chain_of(ran))):
        raise InvalidOptions(faults)
    used = resolve(choice, ran, asked.network)
    return _simulation(simulate_checked(ran, asked.network, bind(used), noise), ran)


def _waiting(graph: Graph, *, has_barrier: bool) -> Graph:
    return with_barrier(graph) if has_barrier and graph.collectives else graph


def _simulation(found: Timeline, ran: Graph) -> Simulation:
    own = {each.name: getattr(found, each.name) for each in dataclass_fields(found)}
    return Simulation(**own, graph=ran)


def sweep(
    graph: GraphInput,
    clusters: Iterable[Cluster | Mapping[str, Any]],
    policies: Sequence[PolicyInput],
    *,
    seed: int = 0,
    time_limit_s: float = 10.0,
    sweep_limit_s: float | None = None,
    changes: "Sequence[Change | Mapping[str, Any]] | None" = None,
) -> Sweep:
    """Compute a cell for each cluster, one after the other: the time of each policy on it.

    Parameters
    ----------
    graph
        As :func:`plan` takes it; of a request for a plan the barrier counts, too.
    clusters
        Clusters, or their JSON.
    policies
        Names, their JSON with parameters, or choices; ``"plan"`` is the plan by the fusion
        ``joint``.
    seed, time_limit_s
        Of that plan; see :class:`Options` [s].
    sweep_limit_s
        A sweep that takes longer ends with the cells that are done, of which there is one [s].
        None for that of the graph's JSON, and for none where it brings none.
    changes
        What is swept is the graph with these ops changed: :class:`Change`, or their JSON. None
        for those that the graph's JSON brings.

    Raises
    ------
    InterlaceError
        As :func:`plan` does; of a cluster with its place, as ``/clusters/1/workers``.
    """
    from app.schemas.sweeps import SweepRequest  # noqa: PLC0415 - takes time
    from app.services.graphs import what_if  # noqa: PLC0415 - takes time

    fields: dict[str, Any] = {
        "policies": [choice_json(policy) for policy in policies],
        "seed": seed,
        "time_limit_s": time_limit_s,
    }
    if sweep_limit_s is not None:
        fields["sweep_limit_s"] = sweep_limit_s
    if changes is not None:
        fields["changes"] = [change_json(change) for change in changes]
    found = read_each(SweepRequest, graph, clusters, fields)
    if found and (faults := list(_policy_faults(found[0]))):
        raise InvalidOptions(faults)
    if found and found[0].request.changes:
        with faults_raised():
            changed = what_if(found[0].graph, found[0].request.changes, "changes")
        assert changed is not None, "there are changes"
        found = [replace(asked, graph=changed) for asked in found]
    names = [each if isinstance(each, str) else json.dumps(each) for each in fields["policies"]]
    return Sweep(list(_cells(found)), names, len(found))


def predict(
    graph: GraphInput,
    networks: Iterable[tuple[int, NetworkInput] | Cluster | Mapping[str, Any]],
    options: "ScalingOptions | Mapping[str, Any] | None" = None,
    passes: "Passes | None" = None,
) -> "tuple[ScalingRow, ...]":
    """Predict the scaling of each cluster: by OSF, simulated and planned.

    Parameters
    ----------
    graph
        As :func:`plan` takes it.
    networks
        Clusters, or their JSON; or worker counts, each with what launches then cost.
    options
        :class:`solver.prediction.scaling.ScalingOptions`, or the fields of a request for a
        prediction that say the same, such as ``{"buffers_bytes": [0]}``.
    passes
        The same iteration as OSF reads it; None takes it from the graph.

    Raises
    ------
    InterlaceError
        As :func:`plan` does; of a cluster with its place, as ``/clusters/1/workers``.
    """
    from app.schemas.predictions import PredictionRequest  # noqa: PLC0415 - takes time
    from solver.prediction.scaling import ScalingOptions, predict  # noqa: PLC0415

    given = [_counted(*each) if isinstance(each, tuple) else (None, each) for each in networks]
    fields = scaling_json(options) if isinstance(options, ScalingOptions) else dict(options or {})
    found = read_each(PredictionRequest, graph, (network for _, network in given), fields)
    rows: list[tuple[int, Network]] = [
        (asked.request.cluster.workers if count is None else count, asked.network)
        for asked, (count, _) in zip(found, given, strict=True)
    ]
    if not found:
        return ()
    return predict(found[0].graph, rows, found[0].request.to_options(), passes)


def export(
    form: str,
    network: NetworkInput,
    plan: Plan,
    workers: int = 1,
    channels: Mapping[str, int] | None = None,
) -> "Export":
    """Write a plan as files of another tool; say what they cannot say, and what that costs.

    Parameters
    ----------
    form
        Key of :data:`EXPORTS`.
    network
        What was planned for, as :func:`plan` takes it.
    plan
        What :func:`plan` returned.
    workers, channels
        Ranks of the channel ``network`` and of the others by name, for formats of one file a rank.

    Raises
    ------
    InvalidPlan
        When the format is unknown, or has no form for this plan.
    InvalidCluster
        As :func:`plan` does.
    """
    from solver.exports import export  # noqa: PLC0415 - takes time

    asked = read(PlanRequest, plan.graph, network, {})
    return export(form, asked.network, plan, workers, channels)


def _options(options: Options | Mapping[str, Any]) -> Any:
    return options_json(options) if isinstance(options, Options) else options


def _chosen(request: PlanRequest, options: Options | Mapping[str, Any] | None) -> Options:
    """Return the options of a request, and of an object what no request has."""
    read = replace(request.options.to_options(), believed=request.belief())
    if not isinstance(options, Options):
        return read
    return replace(read, **{name: getattr(options, name) for name in NOT_POSTED})


def _counted(count: int, network: NetworkInput) -> tuple[int, NetworkInput]:
    """Give a cluster so many workers; what launches cost between them is known of a network."""
    if isinstance(network, Cluster):
        return count, replace(network, workers=count)
    return count, {**network, "workers": count} if isinstance(network, Mapping) else network


def _policy_faults(asked: "Asked[SweepRequest]") -> Iterator[Fault]:
    from solver.prediction.sweep import PLAN  # noqa: PLC0415

    chain = chain_of(asked.graph)
    for i, choice in enumerate(asked.request.choices()):
        if choice.policy != PLAN:
            for fault in choice_faults(choice, chain):
                yield Fault(f"/policies/{i}{fault.pointer}", fault.code, fault.detail)


def _cells(found: "Sequence[Asked[SweepRequest]]") -> "Iterator[Cell]":
    """Yield cell by cell, until their limit is reached where they have one."""
    began = time.perf_counter()
    for asked in found:
        yield _cell(asked)
        is_limited = "sweep_limit_s" in asked.request.model_fields_set
        if is_limited and time.perf_counter() - began > asked.request.sweep_limit_s:
            return


def _cell(asked: "Asked[SweepRequest]") -> "Cell":
    from solver.prediction.sweep import cell_of  # noqa: PLC0415

    request = asked.request
    ran = _waiting(asked.graph, has_barrier=request.barrier)
    cluster = request.cluster.to_cluster()
    return cell_of(ran, cluster, request.bare_choices(), **request.of_cells())
