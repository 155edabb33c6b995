"""Times of runs, simulated with given values of the parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from solver.chain import chain_of, stretched
from solver.costs import Cluster, network_of
from solver.estimation.parameters import (
    BANDWIDTH,
    COMPUTE,
    HOP,
    SHARE,
    SLOWDOWN,
    STARTUP,
    EstimatedParameter,
)
from solver.estimation.runs import MeasuredRun
from solver.estimation.shapes import GROWTH, SLOW, with_growth, with_slow_launches
from solver.graph import Graph, with_barrier
from solver.limits import MAX_BANDWIDTH_GBPS, MIN_BANDWIDTH_GBPS
from solver.policies.choice import Choice, bind, resolve
from solver.simulation.engine import costs_of, iteration_time

#: A value for each parameter.
Values = Mapping[EstimatedParameter, float]


@dataclass(slots=True)
class Simulator:
    """Simulates runs; graphs at one speed are made once.

    Attributes
    ----------
    cluster
        What is known of the cluster with so many workers.
    """

    cluster: Callable[[int], Cluster]
    _graphs: dict[tuple[int, bool], Graph] = field(default_factory=dict)
    _scaled: dict[tuple[int, bool], tuple[float, Graph]] = field(default_factory=dict)

    def time(self, run: MeasuredRun, values: Values) -> float:
        """Return the time of an iteration of a run [us].

        Where no launch takes time nothing is sent, and nothing waits.
        """
        estimated = {p.name: value for p, value in values.items() if p.touches(run)}
        graph = self._graph(run, estimated.get(COMPUTE, 1.0))
        network = network_of(self._cluster(run, estimated))
        if SLOW in estimated:
            network = with_slow_launches(network, estimated[SLOW])
        chain = chain_of(graph)
        if all(cost.time(1) == 0 for cost in costs_of(chain, network)):
            return chain.compute_time
        choice = resolve(_choice(run, estimated), graph, network)
        return iteration_time(graph, network, bind(choice))

    def _cluster(self, run: MeasuredRun, estimated: Mapping[str, float]) -> Cluster:
        cluster = self.cluster(run.workers)
        gbps = estimated.get(BANDWIDTH, cluster.bandwidth_gbps)
        if SHARE in estimated and run.bandwidth_gbps is not None:
            share = estimated[SHARE] * run.bandwidth_gbps
            gbps = min(max(share, MIN_BANDWIDTH_GBPS), MAX_BANDWIDTH_GBPS)
        estimated_cluster = replace(
            cluster,
            bandwidth_gbps=gbps,
            startup_us=estimated.get(STARTUP, cluster.startup_us),
            hop_us=estimated.get(HOP, cluster.hop_us),
            compute_slowdown=max(1.0, estimated.get(SLOWDOWN, cluster.compute_slowdown)),
        )
        return (
            with_growth(estimated_cluster, estimated[GROWTH])
            if GROWTH in estimated
            else estimated_cluster
        )

    def _graph(self, run: MeasuredRun, scale: float) -> Graph:
        """Return the graph of a run with its compute times so many times as long."""
        key = id(run.graph), run.choice.barrier
        if key not in self._graphs:
            self._graphs[key] = with_barrier(run.graph) if run.choice.barrier else run.graph
        last = self._scaled.get(key)
        if last is None or last[0] != scale:
            last = self._scaled[key] = scale, at_speed(self._graphs[key], scale)
        return last[1]


def at_speed(graph: Graph, scale: float) -> Graph:
    """Return a graph whose compute takes so many times as long."""
    if scale == 1:
        return graph
    ops = tuple(
        op if op.duration_us is None else op._replace(duration_us=scale * op.duration_us)
        for op in graph.ops
    )
    scaled = replace(graph, ops=ops, durations=tuple(scale * each for each in graph.durations))
    scaled.memo["chain"] = stretched(chain_of(graph), scale)  # not to be found again
    return scaled


def _choice(run: MeasuredRun, values: Mapping[str, float]) -> Choice:
    """Return the policy of a run with the parameters that are estimated; what it gives wins."""
    stated = dict(run.choice.parameters)
    prefix = f"{run.choice.policy}."
    estimated: dict[str, float | str] = {
        name.removeprefix(prefix): value
        for name, value in values.items()
        if name.startswith(prefix)
    }
    return replace(run.choice, parameters=tuple((estimated | stated).items()))
