"""What a plan gains over what runs today: under PyTorch's barrier, and without it."""

from dataclasses import dataclass, replace
from typing import Literal

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
    """What runs today beside a plan, both with the same barrier.

    Attributes
    ----------
    barrier
        The next forward pass waits for all collectives, as in PyTorch; else each parameter waits
        for its own bucket alone.
    runtime
        What the plan needs to be run.
    today_us
        What runs today, simulated [us].
    plan_us
        The plan that is made for this barrier, simulated [us].
    lower_bound_us
        Nothing is faster, proven [us].
    gain
        ``today_us`` / ``plan_us``; null when the plan takes no time.
    keep
        The plan gains nothing: keep what you have.

    See Also
    --------
    solver.planning.runtimes.runtime_of : what the plan needs.
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
    """Plans for both barriers beside what runs today; the one under the barrier first.

    Attributes
    ----------
    policy
        What runs today: ``ddp`` where all that is sent are all-reduces and none comes after
        another, or where it is the first baseline; else ``wfbp``, the graph's own collectives,
        first in, first out.
    gains
        The second is left out where the graph itself has the barrier.
    cut
        What ended the search of the plan for the other barrier before its moves were done; null
        where nothing did.
    """

    policy: Literal["ddp", "wfbp"]
    gains: tuple[Gain, ...]
    cut: str | None = None


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
    policy: Literal["ddp", "wfbp"] = "ddp" if is_ddp else "wfbp"
    barriers = [True] if has_barrier(graph) else [True, False]
    gains, cut = [], None
    for barrier in barriers:
        planned = found
        if barrier != options.barrier and len(barriers) > 1:
            other = replace(options, baselines=(), slot_us=None, barrier=barrier)
            planned = plan(graph, network, other)
            cut = planned.cut
        ran = with_barrier(graph) if barrier and graph.collectives else graph
        today = iteration_time(ran, network, POLICIES[policy])
        runtime = runtime_of(graph, barrier=barrier)
        gains.append(_gain(planned, today, runtime, barrier=barrier))
    return Headline(policy, tuple(gains), cut)


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
