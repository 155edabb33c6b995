"""The one simulator: every policy, every plan and every reported time comes from here.

Any rule runs in the event loop (:mod:`solver.simulation.events`, where things under way slow one
another down :mod:`solver.simulation.slowed_events`). What most policies are made of, units sent in
an order, runs in flat arrays in :mod:`solver.simulation.kernel`: the same events in the same order,
to the same times.
"""

from collections.abc import Callable, Sequence

from solver.buckets import Launch, Launches
from solver.chain import chain_of
from solver.costs import Cluster, Network, as_network
from solver.graph import Graph
from solver.simulation.contention import common_slowdown, is_contended
from solver.simulation.events import (
    Deadlock,
    EventLoop,
    Noise,
    Policy,
    Rule,
    TimedLaunch,
    Timeline,
    costs_of,
)
from solver.simulation.kernel.run import KernelRun, run_of
from solver.simulation.slowed_events import SlowedEventLoop

__all__ = [
    "Deadlock",
    "Noise",
    "Policy",
    "Rule",
    "TimedLaunch",
    "Timeline",
    "costs_of",
    "iteration_time",
    "launches_under",
    "simulate",
    "timer",
]


def simulate(
    graph: Graph, network: Network | Cluster, policy: Policy, noise: Noise | None = None
) -> Timeline:
    """Run one iteration of a graph under a policy.

    An op starts when all it comes after have ended. A channel carries one launch at a time, for
    the time that its bytes take in its bucket's lane; a collective ends when all bytes of its
    bucket have been sent. Compute ops are slowed down by the channels that carry, and launches by
    others on their network card, as :mod:`solver.simulation.contention` says. The policy knows the
    graph, neither the noise nor that.

    Raises
    ------
    Deadlock
        When the rules leave tensors unsent.

    Notes
    -----
    O((ops + edges + launches) log(collectives)); with contention O((ops + edges + launches)
    (log(ops) + sorts of op under way at once)).
    """
    network = as_network(network)
    rules = _rules_of(graph, network, policy)
    run = _flat_run(graph, network, rules)
    if run is None:
        return _engine(graph, network, rules, noise).run()
    time = _time(run, noise)
    launches = tuple(map(TimedLaunch, *run.launch_columns()))
    return Timeline(time, *run.op_times(), launches, run.events)


def iteration_time(
    graph: Graph, network: Network, policy: Policy, noise: Noise | None = None
) -> float:
    """Return the time that :func:`simulate` finds [us], without what else happens; faster."""
    rules = _rules_of(graph, network, policy)
    run = _flat_run(graph, network, rules)
    if run is None:
        return _engine(graph, network, rules, noise).run().iteration_time
    return _time(run, noise)


def launches_under(graph: Graph, network: Network, policy: Policy) -> Launches:
    """Return what a policy launches, by time, without the times; faster than :func:`simulate`."""
    rules = _rules_of(graph, network, policy)
    run = _flat_run(graph, network, rules)
    if run is None:
        return _engine(graph, network, rules, None).run().plan
    _time(run, None)
    buckets, *_, sizes = run.launch_columns()
    return tuple(map(Launch, buckets, sizes))


def timer(graph: Graph, network: Network, policy: Policy) -> Callable[[Noise | None], float]:
    """Return :func:`iteration_time` as a function of the noise alone.

    What does not depend on the noise is computed once where that is known: units and their order.
    """
    run = _flat_run(graph, network, _rules_of(graph, network, policy))
    if run is None:
        return lambda noise: iteration_time(graph, network, policy, noise)
    return lambda noise: _time(run, noise)


def _rules_of(graph: Graph, network: Network, policy: Policy) -> Sequence[Rule]:
    chain = chain_of(graph)
    return policy(chain, costs_of(chain, network))


def _flat_run(graph: Graph, network: Network, rules: Sequence[Rule]) -> KernelRun | None:
    slowdown = common_slowdown(graph, network)
    return None if slowdown is None else run_of(graph, network, rules, slowdown)


def _engine(
    graph: Graph, network: Network, rules: Sequence[Rule], noise: Noise | None
) -> EventLoop:
    engine = SlowedEventLoop if is_contended(graph, network) else EventLoop
    return engine(graph, network, lambda *_: rules, noise)


def _time(run: KernelRun, noise: Noise | None) -> float:
    time = run.run(noise.durations, noise.factors) if noise else run.run()
    if run.unsent:
        raise Deadlock(run.unsent_tensors())
    return time
