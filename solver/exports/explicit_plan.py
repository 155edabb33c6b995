"""A plan as files of another tool: what they say, what they cannot say, and what that costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Network
from solver.graph import Graph
from solver.planning.explicit import ExplicitBucket, ExplicitPart, explicit_launches
from solver.planning.result import SlottedSchedule
from solver.simulation.engine import Timeline, simulate
from solver.simulation.replay import replay


@dataclass(frozen=True, slots=True)
class ExplicitPlan:
    """A plan by names, as an answer states it.

    Attributes
    ----------
    buckets, parts
        What is sent, and in which order.
    slotted
        The per-slot schedule of the plan; None where it has none.
    workers
        Ranks of the channel ``network``.
    channels
        Name and ranks of each other channel.
    """

    buckets: tuple[ExplicitBucket, ...]
    parts: tuple[ExplicitPart, ...]
    slotted: SlottedSchedule | None = None
    workers: int = 1
    channels: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Export:
    """What a plan became.

    Attributes
    ----------
    format
        Key of :data:`solver.exports.EXPORTS`.
    files
        Content by name, in the order in which they are to be read.
    media_type
        Of the first file.
    notes
        One sentence for each thing of the plan that the files cannot say, or that they assume.
    iteration_time_us
        Simulated time of what the files say, run by the rules of the tool [us].
    plan_time_us
        Simulated time of the plan [us].
    """

    format: str
    files: Mapping[str, str | bytes]
    media_type: str
    notes: tuple[str, ...]
    iteration_time_us: float
    plan_time_us: float


#: A writer: the graph as it was planned, a barrier included, its network, and the plan.
Exporter = Callable[[Graph, Network, ExplicitPlan], Export]


def replay_plan(
    graph: Graph, network: Network, plan: ExplicitPlan
) -> tuple[tuple[Launch, ...], Timeline]:
    """Run a plan as it is: its launches by chain indices, and how they ran.

    Raises
    ------
    InvalidPlan
        When it does not send the graph's collectives.
    """
    launches = explicit_launches(graph, chain_of(graph), plan.buckets, plan.parts)
    return launches, simulate(graph, network, replay(launches))
