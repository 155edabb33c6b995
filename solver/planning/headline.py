"""What a plan gains over what runs today: under PyTorch's barrier, and without it."""

from dataclasses import dataclass, replace

from solver.chain import chain_of
from solver.costs import Network
from solver.graph import ALL_REDUCE, Graph, has_barrier, with_barrier
from solver.planning.plan import Options, plan
from solver.planning.result import Plan
from solver.planning.runtimes import runtime_of
from solver.policies import POLICIES
from solver.simulation.engine import iteration_time
from solver.units import same


@dataclass(frozen=True, slots=True)
class Gain:
    """What runs today beside a plan.

    Attributes
    ----------
    barrier
        Whether the next forward pass waits for all last collectives, as with PyTorch's optimizer
        step; else each consumer waits for the buckets of its own tensors alone.
    runtime
        What the plan needs to be run (:func:`solver.planning.runtimes.runtime_of`).
    today_us, plan_us
        Simulated iteration times [us].
    lower_bound_us
        No plan is faster.
    gain
        Today's time over the plan's; None when the plan takes no time.
    keep
        Whether the plan gains nothing, by the one tolerance: then keep what you have.
    """

    barrier: bool
    runtime: str
    today_us: float
    plan_us: float
    lower_bound_us: float
    gain: float | None
    keep: bool


@dataclass(frozen=True, slots=True)
class Headline:
    """The gains over a policy, the one under the barrier first.

    There is only that one where the graph itself has the barrier.
    """

    policy: str
    gains: tuple[Gain, ...]


def headline(graph: Graph, network: Network, options: Options, found: Plan) -> Headline:
    """Compare with what runs today, with a plan for each of both barriers.

    Today is PyTorch DDP with its defaults where all that is sent are all-reduces and none comes
    after another, or where it is the first baseline; else the graph's own collectives, first in,
    first out. ``found`` is the plan of ``graph``, as it is without the barrier of ``options``, with
    these; the plan for the other barrier is made here.

    Notes
    -----
    A plan, and two simulations.
    """
    chain = chain_of(graph)
    is_ddp = [choice.policy for choice in options.baselines[:1]] == ["ddp"] or (
        not chain.before and {lane.kind for lane in chain.lanes} <= {ALL_REDUCE}
    )
    policy = "ddp" if is_ddp else "wfbp"
    barriers = [True] if has_barrier(graph) else [True, False]
    gains = []
    for barrier in barriers:
        planned = found
        if barrier != options.barrier and len(barriers) > 1:
            other = replace(options, baselines=(), slot_us=None, barrier=barrier)
            planned = plan(graph, network, other)
        ran = with_barrier(graph) if barrier and graph.collectives else graph
        today = iteration_time(ran, network, POLICIES[policy])
        runtime = runtime_of(graph, barrier=barrier)
        gains.append(_gain(planned, today, runtime, barrier=barrier))
    return Headline(policy, tuple(gains))


def _gain(planned: Plan, today: float, runtime: str, *, barrier: bool) -> Gain:
    time = planned.iteration_time_us
    return Gain(
        barrier=barrier,
        runtime=runtime,
        today_us=today,
        plan_us=time,
        lower_bound_us=planned.lower_bound_us,
        gain=today / time if time > 0 else None,
        keep=time >= today or same(time, today),
    )
