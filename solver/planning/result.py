"""What a plan is: frozen data, with its evidence. Unknown is None."""

from dataclasses import dataclass, field
from typing import Any

from solver.buckets import Launch
from solver.costs import Network
from solver.evidence.baseline import Baseline
from solver.evidence.bound import Bound
from solver.evidence.evidence import NO_EVIDENCE, Evidence
from solver.evidence.robustness import Robustness
from solver.graph import ALL_REDUCE, NETWORK, Graph, Op
from solver.simulation.engine import Timeline


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tensors sent as one collective, all of one kind and on one channel.

    ``release_us`` is when its last member is ready in this plan, ``tail_us`` the compute left
    after it on the longest path through a consumer of any member, with collectives at 0.
    """

    id: str
    tensors: tuple[str, ...]
    bytes: int
    release_us: float
    tail_us: float
    kind: str = ALL_REDUCE
    channel: str = NETWORK


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bucket between two preemptions: one launch."""

    bucket: str
    start_us: float
    end_us: float
    offset_bytes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SlotRun:
    """Slots from ``slot`` on, ``count`` of them, that serve one bucket."""

    slot: int
    count: int
    bucket: str


@dataclass(frozen=True, slots=True)
class SlottedSchedule:
    """The grid problem's optimum: release, duration and tail rounded up to whole slots.

    ``iteration_time_us`` is its value, start-up charged once a bucket.
    """

    slot_us: float
    runs: tuple[SlotRun, ...]
    iteration_time_us: float


@dataclass(frozen=True, slots=True)
class Proof:
    """Why these buckets cannot be faster than ``ideal_us``: release + work + tail.

    Attributes
    ----------
    critical_buckets
        Empty when compute alone takes that long, or there is no ideal; the others are null then.
    release_us
        All of them are released then or later [us].
    work_us
        What they need of the channel [us].
    tail_us
        So much compute, or more, is left after each [us].
    """

    critical_buckets: tuple[str, ...]
    release_us: float | None
    work_us: float | None
    tail_us: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer for one iteration.

    Attributes
    ----------
    status
        ``optimal`` when the iteration time equals the lower bound; ``within`` when the best time
        found does, and the plan takes at most the tolerance longer; else ``feasible``.
    iteration_time_us
        Simulated time of the plan, start-up paid by every part.
    best_time_us
        The best time that was found; the plan may take a tolerance longer, for fewer launches.
    compute_time_us
        Longest path with collectives at 0.
    lower_bound_us, bound
        No fusion, partition or order is faster, and why.
    gap
        Iteration time / lower bound - 1; None when the bound is 0.
    scaling_factor
        Compute time / iteration time; None when the iteration time is 0.
    exposed_us
        Iteration time - compute time.
    overlap
        1 - exposed / time of all launches, clipped to 0..1; None when nothing is sent.
    ideal_us, proof
        Exact optimum for these buckets with start-up paid once a bucket; None where releases
        depend on the schedule, as they do where launches slow compute down.
    buckets, parts
        What to send, and when, in time order.
    slotted
        The per-slot schedule; None where releases depend on the schedule.
    fused
        The ops with each bucket as one collective.
    graph, launches, timeline
        What was simulated, a barrier included, and how it ran.
    baselines
        In the order asked for.
    evidence
        On what all of this rests; what cut the search is in it.
    robust
        How it was chosen by its times over draws of the costs; None where it was not.
    network
        What its launches cost, as they were simulated.
    """

    status: str
    iteration_time_us: float
    best_time_us: float
    compute_time_us: float
    lower_bound_us: float
    bound: Bound
    gap: float | None
    scaling_factor: float | None
    exposed_us: float
    overlap: float | None
    ideal_us: float | None
    proof: Proof
    buckets: tuple[Bucket, ...]
    parts: tuple[Part, ...]
    slotted: SlottedSchedule | None
    fused: tuple[Op, ...]
    graph: Graph
    launches: tuple[Launch, ...]
    timeline: Timeline
    baselines: tuple[Baseline, ...]
    evidence: Evidence = NO_EVIDENCE
    robust: Robustness | None = None
    network: Network | None = field(default=None, compare=False, repr=False)

    def certificate(self) -> dict[str, Any]:
        """Return what proves the bound, as :func:`solver.planning.certificate.certificate_of`."""
        from solver.planning.certificate import certificate_of  # noqa: PLC0415 - few ask for it

        assert self.network is not None, "a plan knows its network"
        return certificate_of(self.graph, self.network, self.bound)

    @property
    def cut(self) -> str | None:
        """What ended the search before its moves were done, as the evidence says."""
        return self.evidence.cut
