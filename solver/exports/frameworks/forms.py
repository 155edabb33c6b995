"""What all frameworks lose of a plan, and what a form of theirs takes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from solver.buckets import Launch, Members
from solver.chain import chain_of
from solver.costs import Network
from solver.exports.explicit_plan import ExplicitPlan, replay_plan
from solver.exports.frameworks.merged import MergedGraph, gradient_buckets, merge
from solver.graph import Graph, with_barrier
from solver.simulation.engine import Policy, iteration_time, simulate


@dataclass(frozen=True, slots=True)
class WholeBuckets:
    """A plan's buckets of gradients, each to be sent whole.

    Attributes
    ----------
    launches, time
        The plan's launches, and its simulated time [us].
    buckets
        Those of gradients, in the order of their first launches.
    """

    launches: tuple[Launch, ...]
    time: float
    buckets: tuple[Members, ...]


@dataclass(frozen=True, slots=True)
class SimulatedForm:
    """A form of a framework as it was simulated.

    Attributes
    ----------
    time
        With the barrier of an optimizer's step [us].
    without_barrier
        Did each op of the next forward pass wait for its own tensors alone [us].
    order
        Ids of the tensors of each bucket, in the order in which the buckets are sent.
    """

    time: float
    without_barrier: float
    order: tuple[tuple[str, ...], ...]


def whole_buckets(graph: Graph, network: Network, plan: ExplicitPlan) -> WholeBuckets:
    """Take a plan's buckets.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, or sends no all-reduce.
    """
    launches, timeline = replay_plan(graph, network, plan)
    return WholeBuckets(launches, timeline.iteration_time, gradient_buckets(graph, launches))


def simulate_form(merged: MergedGraph, network: Network, policy: Policy) -> SimulatedForm:
    """Simulate a graph of buckets under the rule of a framework, with a barrier and without."""
    graph = with_barrier(merged.graph)
    timeline = simulate(graph, network, policy)
    positions = chain_of(graph).positions.tolist()
    ids = [graph.ops[positions[launch.bucket[0]]].id for launch in timeline.launches]
    return SimulatedForm(
        time=timeline.iteration_time,
        without_barrier=iteration_time(merged.graph, network, policy),
        order=tuple(merged.tensors[name] for name in ids if name in merged.tensors),
    )


def time_with_barrier(merged: MergedGraph, network: Network, policy: Policy) -> float:
    """Simulate a graph of buckets under the rule of a framework, with a barrier [us]."""
    return iteration_time(with_barrier(merged.graph), network, policy)


def simulate_own_buckets(
    graph: Graph, network: Network, plan: WholeBuckets, policy: Policy
) -> SimulatedForm:
    """Simulate a plan's own buckets, each whole, under the rule of a framework."""
    return simulate_form(merge(graph, plan.buckets), network, policy)


def losses(graph: Graph, plan: WholeBuckets, form: SimulatedForm) -> Iterator[str]:
    """Say what a framework that sends whole buckets in release order loses of a plan."""
    chain = chain_of(graph)
    parts = Counter(launch.bucket for launch in plan.launches)
    cut = [bucket for bucket in plan.buckets if parts[bucket] > 1]
    if cut:
        yield (
            f"{len(cut)} of {len(plan.buckets)} buckets are sent in {sum(parts[b] for b in cut)} "
            "parts, so that more urgent ones can go first; here every bucket goes whole."
        )
    releases = [float(chain.release[list(bucket)].max()) for bucket in plan.buckets]
    overtakes = any(here > after for here, after in pairwise(releases))
    if overtakes:
        yield "Some buckets overtake others in the plan; here they go in the order of release."
    others = len(chain) - sum(len(bucket) for bucket in plan.buckets)
    if others:
        yield (
            f"{others} other collectives are the program's own: they are not written, and are "
            "taken to go one by one as they are ready."
        )
    tails = chain.tail[[i for bucket in plan.buckets for i in bucket]]
    if (cut or overtakes) and tails.min() < tails.max():
        yield "A plan made with a barrier, which is what an optimizer's step is, loses less here."
    extra = form.time - form.without_barrier
    if extra > 0:
        yield (
            f"The optimizer's step waits for all gradients, which takes {extra:,.1f} us of the "
            "time; in the graph each op of the next forward pass waits for what it needs."
        )


def sizes_of(graph: Graph, groups: Sequence[Sequence[str]]) -> list[int]:
    """Sum the bytes of each group of tensors."""
    sizes = {op.id: op.bytes or 0 for op in graph.ops}
    return [sum(sizes[tensor] for tensor in group) for group in groups]
