"""Prove the plan of a layered chain, or find a better one, by taking plans apart."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from solver.bounds.bound import sharpened
from solver.bounds.chain import LowerBound
from solver.bounds.kinds import NESTED
from solver.bounds.tried import tried
from solver.buckets import Launches
from solver.chain import Chain, by_channel, subchain
from solver.costs import Cost
from solver.fusion import layered
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.two_sided.branches import Branching
from solver.fusion.chain.two_sided.search import bound_and_plan
from solver.fusion.search import Reporter
from solver.units import same

#: Labels compared where nothing more is asked for, and for each second that is.
_LOOKS, _LOOKS_A_SECOND = 80_000_000, 100_000_000
#: Beginnings that are tried for each second that is asked for (:mod:`solver.bounds.tried`).
_BEGINNINGS_A_SECOND = 300_000


class ProofOptions(NamedTuple):
    """How long to prove, who is told of a better plan or a higher bound, and when to stop."""

    prove_s: float
    share: float
    offer: Reporter
    raise_bound: Callable[[LowerBound], None]
    is_over: Callable[[], bool]

    @property
    def looks(self) -> int:
        """How many labels are compared: as many on every machine."""
        return round(_LOOKS * self.share + _LOOKS_A_SECOND * self.prove_s)


def proven(
    chain: Chain,
    costs: Sequence[Cost],
    launches: Launches,
    bound: LowerBound,
    options: ProofOptions | None,
) -> tuple[Launches, LowerBound]:
    """Raise the bound of a plan, and return the best launches that come of it.

    First by what only the plan's time rules out (:func:`solver.bounds.bound.sharpened`), then, with
    ``options``, by branch and bound of each channel that decides the time; where more is asked for,
    by all plans of a few tensors.

    Parameters
    ----------
    chain, costs
        A layered chain, and the cost of each channel.
    launches, bound
        A plan, and what no plan is known to be below.
    options
        How long; None keeps the launches.

    Returns
    -------
    tuple of Launch
        The launches, or better ones of the channels that decide the time.
    LowerBound
        The bound, or a higher one.
    """
    time = layered.value(launches, chain, costs)
    if not same(time, bound.value):
        bound = sharpened(chain, costs, bound, time)
    if options is None:
        return launches, bound
    for tensors, cost in zip(by_channel(chain), costs, strict=True):
        some = subchain(chain, tensors)
        judge = ChainJudge(some, cost)
        own = layered.launches_on(launches, tensors)
        value = judge.value(own)
        if value <= bound.value or same(value, bound.value):
            continue
        branching = Branching(options.looks, options.is_over, _raiser(bound, tensors, options))
        outcome = bound_and_plan(some, cost, value, branching=branching)
        own = min((own, *outcome.plans), key=judge.value)
        launches = layered.instead_on(launches, tensors, own)
        time = layered.value(launches, chain, costs)
        bound = _higher(bound, min(outcome.bound, time), tensors)
        value = judge.value(own)
        if options.prove_s and value > bound.value:
            looks = round(_BEGINNINGS_A_SECOND * options.prove_s)
            last = tried(some, [cost], bound, value, more_looks=looks, is_over=options.is_over)
            members = tuple(tensors[i] for i in last.members)
            bound = bound if last is bound else replace(last, members=members)
        options.offer(launches, time)
        options.raise_bound(bound)
    return launches, bound


def _higher(bound: LowerBound, value: float, tensors: Sequence[int]) -> LowerBound:
    """Return a bound on the plans of some tensors [us] where it is above a known one."""
    if value <= bound.value or same(value, bound.value):
        return bound
    return LowerBound(value, NESTED, tuple(tensors))


def _raiser(
    bound: LowerBound, tensors: Sequence[int], options: ProofOptions
) -> Callable[[float], None]:
    """Return what is called with each higher bound on the plans of some tensors [us]."""
    known = bound

    def raise_bound(value: float) -> None:
        nonlocal known
        higher = _higher(known, value, tensors)
        if higher is not known:
            known = higher
            options.raise_bound(higher)

    return raise_bound
