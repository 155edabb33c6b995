"""Sweeps: the same graph on many clusters under many policies, a cell at a time.

A cell is a cluster with the time of each policy on it; cells do not depend on one another, so they
may be computed anywhere and in any order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from solver.chain import Chain, chain_of
from solver.costs import Cluster, Network, is_extrapolated, network_of
from solver.evidence.belief import Belief
from solver.evidence.doubts import saved
from solver.evidence.evidence import Evidence
from solver.evidence.gain import Over
from solver.evidence.what_you_run import what_you_run
from solver.graph import NETWORK, Graph, with_barrier
from solver.planning.certify import evidence_on
from solver.planning.options import Options
from solver.planning.plan import compare, plan
from solver.policies.choice import Choice, applies
from solver.simulation.engine import costs_of, iteration_time
from solver.watchdog import TIME_LIMIT_S

#: A time longer by up to this share is as good: a plan of the fewest launches may take it.
TIE = 1e-3

#: The policy of a :class:`solver.policies.choice.Choice` that stands for our plan.
PLAN = "plan"


#: The search of a cell's plan takes so much of what that of a plan alone may: of large graphs some
#: 2 s a cell.
SHARE = 0.2


@dataclass(frozen=True, slots=True)
class CellGain:
    """What the fastest of a cell saves over what you run.

    Attributes
    ----------
    over
        Key of :data:`solver.evidence.gain.WHAT_RUNS`.
    today_us
        What you run, simulated [us].
    gain
        1 - time of the fastest / ``today_us``; None where either is not known or takes no time.
    bucket_cap_mb
        Of DDP at its best cap [MiB]; None of all else, and where its defaults are best.
    today_peak_bytes
        The most memory of what you run; None where memory is not known.
    """

    over: Over
    today_us: float
    gain: float | None
    bucket_cap_mb: float | None = None
    today_peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One cluster of a sweep.

    Attributes
    ----------
    workers, bandwidth_gbps, startup_us
        The cluster: ranks, bandwidth [Gbit/s] (None where its cost needs none) and fixed cost of a
        launch [us].
    compute_time_us
        Longest path with collectives at 0 [us].
    lower_bound_us
        No plan is faster than this [us].
    times
        Iteration time of each policy, in their order [us]; None where PACE is not defined.
    fastest
        Indices of the policies that are as fast as the fastest, within :data:`TIE`, ascending;
        empty when none is defined.
    extrapolated
        Whether the cost of a channel in use was scaled from what was measured with other workers or
        bandwidth.
    evidence
        On what the times rest, and what ended the search of the plan before its moves were done.
    gains
        What the fastest saves over each of what you run on that cluster.
    """

    workers: int
    bandwidth_gbps: float | None
    startup_us: float
    compute_time_us: float
    lower_bound_us: float
    times: tuple[float | None, ...]
    fastest: tuple[int, ...]
    extrapolated: bool
    evidence: Evidence
    gains: tuple[CellGain, ...]

    @property
    def cut(self) -> str | None:
        """What ended the search before its moves were done, as the evidence says."""
        return self.evidence.cut

    @property
    def best(self) -> int | None:
        """Index of the first of the fastest policies; None when none is defined."""
        return self.fastest[0] if self.fastest else None


def cell_of(
    graph: Graph,
    cluster: Cluster,
    policies: Sequence[Choice],
    *,
    seed: int = 0,
    time_limit_s: float = TIME_LIMIT_S,
    launch_tolerance: float = 0.0,
    believed: Belief | None = None,
    is_here: bool = True,
) -> Cell:
    """Compute one cell of a sweep.

    Where no launch takes time, that is with one worker, nothing is sent: every policy takes the
    compute time.

    Parameters
    ----------
    graph
        One training iteration, its barrier included.
    cluster
        Who takes part, and over what.
    policies
        What is compared; ``Choice(PLAN)`` is the plan by the fusion ``joint``.
    seed, time_limit_s, launch_tolerance
        Of that plan; see :class:`solver.planning.options.Options` [s]. Times are compared, so the
        plan is the fastest one unless a tolerance is given.
    believed
        Policies and plan are decided with these costs, and executed with those of the cluster;
        None believes what is true.
    is_here
        The cluster is that of the step that the graph was read from, as far as anybody says.

    Raises
    ------
    InvalidCluster
        When a lane in use has no cost on this cluster.
    InvalidOptions
        When a policy is unknown, or a parameter is out of range.

    Notes
    -----
    One simulation a policy and each of what you run, one for each cap of DDP, one bound, one for
    the evidence, and one plan if asked for.
    """
    choices = tuple(choice for choice in policies if choice.policy != PLAN)
    options = Options(
        baselines=choices,
        seed=seed,
        time_limit_s=time_limit_s,
        share=SHARE,
        launch_tolerance=launch_tolerance,
        believed=believed,
    )
    chain, network = chain_of(graph), network_of(cluster)
    plan_time: float | None = None
    cut: str | None = None
    baselines: Sequence[float | None]
    if all(cost.time(1) == 0 for cost in costs_of(chain, network)):
        bound = plan_time = chain.compute_time
        baselines = [_alone(graph, chain, choice) for choice in choices]
    elif len(choices) < len(policies):
        answer = plan(graph, network, options)
        bound, plan_time, cut = answer.lower_bound_us, answer.iteration_time_us, answer.evidence.cut
        baselines = [baseline.iteration_time_us for baseline in answer.baselines]
    else:
        bound, baselines = compare(graph, network, options)
    channels = {NETWORK: cluster, **dict(cluster.channels)}
    policy_times = iter(baselines)
    times = tuple(plan_time if choice.policy == PLAN else next(policy_times) for choice in policies)
    return Cell(
        workers=cluster.workers,
        bandwidth_gbps=cluster.bandwidth_gbps,
        startup_us=cluster.startup_us,
        compute_time_us=chain.compute_time,
        lower_bound_us=bound,
        times=times,
        fastest=fastest_of(times),
        extrapolated=any(is_extrapolated(channels[name]) for name in chain.channels),
        evidence=replace(evidence_on(graph, network, is_here=is_here), cut=cut),
        gains=_gains(graph, network, times),
    )


def sweep(
    graph: Graph,
    clusters: Iterable[Cluster],
    policies: Sequence[Choice],
    *,
    seed: int = 0,
    time_limit_s: float = TIME_LIMIT_S,
    launch_tolerance: float = 0.0,
    believed: Belief | None = None,
) -> tuple[Cell, ...]:
    """Compute a cell for each cluster, as :func:`cell_of` does, one after the other."""
    return tuple(
        cell_of(
            graph,
            cluster,
            policies,
            seed=seed,
            time_limit_s=time_limit_s,
            launch_tolerance=launch_tolerance,
            believed=believed,
        )
        for cluster in clusters
    )


def _alone(graph: Graph, chain: Chain, choice: Choice) -> float | None:
    """Return the time of a policy when nothing is sent [us]."""
    if not applies(choice, chain):
        return None
    return chain_of(with_barrier(graph)).compute_time if choice.barrier else chain.compute_time


def fastest_of(times: Sequence[float | None]) -> tuple[int, ...]:
    """Return which times are as good as the least, within :data:`TIE`; None is no time."""
    least = least_of(times)
    if least is None:
        return ()
    most = least * (1 + TIE)
    return tuple(i for i, time in enumerate(times) if time is not None and time <= most)


def least_of(times: Sequence[float | None]) -> float | None:
    """Return the least time; None where there is none."""
    return min((time for time in times if time is not None), default=None)


def share_saved(today_us: float, least_us: float | None) -> float | None:
    """Return the share of what you run that the fastest saves; None where either is not known."""
    return None if least_us is None else saved(today_us, least_us)


def _gains(graph: Graph, network: Network, times: Sequence[float | None]) -> tuple[CellGain, ...]:
    least = least_of(times)
    found = []
    for today in what_you_run(graph, network):
        took = iteration_time(graph, network, today.policy(graph, network))
        found.append(CellGain(today.name, took, share_saved(took, least), today.bucket_cap_mb))
    return tuple(found)
