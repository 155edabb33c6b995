"""What would be gained if one resource were faster, and so what limits a run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from solver.parameter_server.interval import Pace, pace_of
from solver.parameter_server.links import ServerLinks
from solver.parameter_server.record import StepsRun
from solver.parameter_server.steps import DOWNLINK, RESOURCES, UPLINK, ServerStep
from solver.units import TOLERANCE

#: So many times as fast a resource is tried.
SPEEDUP: Final = 2.0

#: Both directions of all links at once, which is to say the bandwidth.
LINKS: Final = "links"

#: Runs steps with so many workers over links.
Rerun = Callable[[Sequence[ServerStep], ServerLinks], StepsRun]


class Gains(NamedTuple):
    """What each kind of resource gains.

    Attributes
    ----------
    before
        The pace as it is.
    paces
        By kind, in the order worker, server, uplink, downlink, links: the pace when it is faster.
    limit
        The kind that gains most, of equals the first, when its gain is outside the intervals of
        both runs; both links when they gain more than it by so much. None when nothing does, or the
        intervals are not known.
    """

    before: Pace
    paces: dict[str, Pace]
    limit: str | None

    def of(self, kind: str) -> float:
        """Return the share by which the throughput grows, below 0 where it falls."""
        return self.before.mean_us / self.paces[kind].mean_us - 1


def gains_of(steps: Sequence[ServerStep], links: ServerLinks, rerun: Rerun) -> Gains:
    """Try each kind of resource that is in use at :data:`SPEEDUP` times its speed.

    The directions of a link are tried apart and together, its ends together alone: uplinks are
    faster at workers and servers alike. All runs have the same seed, so each worker draws the same
    steps. A gain may be below 0: workers that compute faster meet more often on the links.

    Parameters
    ----------
    steps, links
        What was run.
    rerun
        Runs them.

    Notes
    -----
    Up to six runs.
    """
    before = pace_of(rerun(steps, links))
    paces = {kind: pace_of(rerun(*_faster(kind, steps, links))) for kind in kinds_to_try(steps)}
    most = min((kind for kind in paces if kind != LINKS), key=lambda kind: paces[kind].mean_us)
    limit = most if _is_faster(paces[most], before) else None
    if LINKS in paces and _is_faster(paces[LINKS], min(paces[most], before)):
        limit = LINKS
    return Gains(before, paces, limit)


def kinds_to_try(steps: Sequence[ServerStep]) -> tuple[str, ...]:
    """Name the kinds of resources in use, and both links where both are."""
    used = {op.kind for step in steps for op in step.ops if op.bytes or op.duration_us}
    both = (LINKS,) if {UPLINK, DOWNLINK} <= used else ()
    return (*(kind for kind in RESOURCES if kind in used), *both)


def _faster(
    kind: str, steps: Sequence[ServerStep], links: ServerLinks
) -> tuple[Sequence[ServerStep], ServerLinks]:
    if kind in {UPLINK, LINKS}:
        links = replace(links, uplink_speed=links.uplink_speed * SPEEDUP)
    if kind in {DOWNLINK, LINKS}:
        links = replace(links, downlink_speed=links.downlink_speed * SPEEDUP)
    if kind in {UPLINK, DOWNLINK, LINKS}:
        return steps, links
    return [_shorter(step, kind) for step in steps], links


def _shorter(step: ServerStep, kind: str) -> ServerStep:
    """Return a step in which what the worker or the servers compute takes less time."""
    ops = (
        op._replace(duration_us=(op.duration_us or 0.0) / SPEEDUP) if op.kind == kind else op
        for op in step.ops
    )
    return replace(step, ops=tuple(ops))


def _is_faster(pace: Pace, before: Pace) -> bool:
    """Tell whether one pace is faster than the other beyond both their intervals."""
    if pace.half_us is None or before.half_us is None:
        return False
    gained = (before.mean_us - pace.mean_us) / before.mean_us
    return gained > TOLERANCE + max(pace.half_us, before.half_us) / before.mean_us
