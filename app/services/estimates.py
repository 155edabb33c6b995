"""Estimates: costs from iteration times."""

from collections.abc import Iterator, Mapping, Sequence

from app import VERSION
from app.errors import InvalidRequest, within
from app.reading.cluster_faults import cluster_faults, lane_faults
from app.reading.program_faults import NOT_PLANNED, has_order
from app.schemas.clusters import ClusterBody
from app.schemas.estimates import EstimateAnswer, EstimateRequest, NetworkCost, ParameterOut, RowOut
from app.schemas.graphs import GraphBody
from app.schemas.networks import CostModelBody
from app.services.launch_counts import launches_of
from app.services.sweeps.faults import label_of
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Cluster
from solver.errors import Fault, InterlaceError
from solver.estimation.estimate import Estimate, estimate
from solver.estimation.parameters import BANDWIDTH, HOP, SHARE, SLOWDOWN, STARTUP
from solver.estimation.runs import MeasuredRun
from solver.estimation.table_runs import runs_of
from solver.estimation.times_table import TimesRow, read_times
from solver.graph import Graph, build
from solver.limits import MAX_ESTIMATED_STEPS
from solver.policies.choice import Choice

#: From this factor on it is worth saying.
_SLOWED = 1.005


def run(request: EstimateRequest, stored: Mapping[str, GraphBody]) -> EstimateAnswer:
    """Estimate costs, and simulate all rows with them.

    Parameters
    ----------
    request
        Its cluster with stored cost models in the place of their ids.
    stored
        Graphs that rows name by id.

    Raises
    ------
    InvalidRequest
        When rows and text are both given or neither, with every row that is wrong, when no row has
        a time, or the rows are too many to be simulated some hundred times.
    """
    rows = _rows(request)
    graphs = _graphs({**stored, **request.graphs})
    try:
        runs = runs_of(rows, graphs)
    except InterlaceError as error:
        raise InvalidRequest(error.faults) from error
    faults = [*cluster_faults(request.cluster), *_cost_faults(request.cluster, runs)]
    if faults := list(dict.fromkeys([*faults, *_work_faults(runs)])):
        raise InvalidRequest(faults)
    try:
        estimated = estimate(
            runs, lambda workers: _on(request.cluster, workers), request.parameters
        )
    except InterlaceError as error:
        raise InvalidRequest(error.faults) from error
    costs = list(_costs(request.cluster, runs, estimated))
    return EstimateAnswer(
        summary=list(_summary(estimated, runs)),
        parameters=[
            ParameterOut.of(each, name=each.parameter.name, subject=each.parameter.of)
            for each in estimated.parameters
        ],
        rows=[
            RowOut.of(
                each,
                policy=label_of(Choice(each.choice.policy, parameters=each.choice.parameters)),
                barrier=each.choice.barrier,
                measured_us=each.time_us,
                time_us=time,
                low_us=low,
                high_us=high,
                error=error,
            )
            for each, time, (low, high), error in zip(
                runs, estimated.times, estimated.intervals, estimated.errors, strict=True
            )
        ],
        median_error=estimated.median_error,
        worst_error=estimated.worst_error,
        noise=estimated.noise,
        costs=costs,
        model=costs[0].model if len(costs) == 1 else None,
        version=VERSION,
    )


def graph_names(request: EstimateRequest) -> list[str]:
    """Name the graphs that rows name and the request does not bring."""
    names = dict.fromkeys(row.graph for row in _rows(request) if row.graph is not None)
    return [name for name in names if name not in request.graphs]


def _rows(request: EstimateRequest) -> Sequence[TimesRow]:
    if (request.rows is None) == (request.text is None):
        has_rows = request.rows is not None
        code = FaultCode.EXTRA_FIELD if has_rows else FaultCode.MISSING_FIELD
        raise InvalidRequest([Fault("/rows", code, "Give rows, or a text; one of both.")])
    if request.rows is not None:
        return [row.to_row() for row in request.rows]
    try:
        return read_times(request.text or "")
    except InterlaceError as error:
        raise InvalidRequest([Fault("/text", f.code, f.detail) for f in error.faults]) from error


def _graphs(bodies: Mapping[str, GraphBody]) -> dict[str, Graph]:
    graphs, faults = {}, list[Fault]()
    for name, body in bodies.items():
        ops = body.ops_of()
        if has_order(ops, body.free(), body.buffers):
            faults.append(Fault(f"/graphs/{name}", FaultCode.NOT_SUPPORTED, NOT_PLANNED))
            continue
        try:
            graphs[name] = build(body.name, ops)
        except InterlaceError as error:
            faults += within(f"graphs/{name}", error.faults)
    if faults:
        raise InvalidRequest(faults)
    return graphs


def _on(body: ClusterBody, workers: int) -> Cluster:
    return body.model_copy(update={"workers": workers}).to_cluster()


def _cost_faults(body: ClusterBody, runs: Sequence[MeasuredRun]) -> Iterator[Fault]:
    """List why the cluster has no cost for a graph and a number of workers."""
    seen = set()
    for each in runs:
        if (key := (id(each.graph), each.workers)) in seen:
            continue
        seen.add(key)
        some = body.bandwidth_gbps or 1.0  # it is estimated
        cluster = body.model_copy(update={"workers": each.workers, "bandwidth_gbps": some})
        yield from lane_faults([each.graph.ops[i] for i in each.graph.collectives], cluster)


def _work_faults(runs: Sequence[MeasuredRun]) -> Iterator[Fault]:
    steps = sum(
        len(each.graph.ops) + launches_of(each.choice, chain_of(each.graph).bytes.tolist())[0]
        for each in runs
    )
    if steps > MAX_ESTIMATED_STEPS:
        detail = (
            f"All rows take {steps:,} steps (ops and launches); at most {MAX_ESTIMATED_STEPS:,} "
            "are simulated some hundred times."
        )
        yield Fault("/rows", FaultCode.OUT_OF_RANGE, detail)


def _summary(estimated: Estimate, runs: Sequence[MeasuredRun]) -> Iterator[str]:
    timed = sum(run.time_us is not None for run in runs)
    yield (
        f"{timed:,} rows have a time and {len(runs) - timed:,} are predicted; the median error of "
        f"the first is {100 * estimated.median_error:.2f} %, the worst "
        f"{100 * estimated.worst_error:.2f} %."
    )
    open_ = [each.parameter.label for each in estimated.parameters if each.value is None]
    if open_:
        yield (
            f"The rows do not determine {', '.join(open_)}; the likeliest values are used, and how "
            "far off these may be is in the interval of each time."
        )
    yield from _slowed(estimated)
    if any(_is_direct(run.choice) for run in runs):
        yield (
            "bytescheduler is taken to send without Horovod's loop; over Horovod and NCCL it is "
            "bytescheduler:cycle_time_us=5000."
        )


def _slowed(estimated: Estimate) -> Iterator[str]:
    """Say with which slow-down the times are simulated, which is no part of a cost model."""
    for each in estimated.parameters:
        if each.parameter.name == SLOWDOWN and each.used > _SLOWED:
            yield (
                f"Compute takes {each.used:.3g} times as long while launches run; with these costs "
                f"give plans and simulations compute_slowdown {each.used:.3g}."
            )


def _is_direct(choice: Choice) -> bool:
    """Tell whether nobody says how ByteScheduler sends, which decides how fast it is."""
    return choice.policy == "bytescheduler" and "cycle_time_us" not in dict(choice.parameters)


def _costs(
    body: ClusterBody, runs: Sequence[MeasuredRun], estimated: Estimate
) -> Iterator[NetworkCost]:
    """Write a cost model for each network, and each nominal bandwidth of its rows."""
    used = {(each.parameter.name, each.parameter.of): each.used for each in estimated.parameters}
    for network, nominal in dict.fromkeys((run.network, run.bandwidth_gbps) for run in runs):
        gbps = used.get((BANDWIDTH, network))
        if gbps is None and nominal is not None:
            gbps = used[SHARE, network] * nominal
        figures = {
            "name": network,
            "bandwidth_gbps": gbps,
            STARTUP: used[STARTUP, network],
            HOP: used[HOP, network],
        }
        fitted = body.cost_model or body
        same = fitted.model_dump(include=set(CostModelBody.model_fields), exclude={"workers", "id"})
        model = CostModelBody.model_validate({**same, **figures}, strict=False)
        share = (SHARE, network) in used
        yield NetworkCost(network=network, bandwidth_gbps=nominal if share else None, model=model)
