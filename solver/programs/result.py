"""What a planned program is: frozen data, with its evidence. Unknown is None."""

from dataclasses import dataclass

from solver.evidence.baseline import Baseline
from solver.evidence.bound import Bound
from solver.evidence.evidence import NO_EVIDENCE, Evidence
from solver.evidence.robustness import Robustness
from solver.programs.execute import HostSpan, ProgramRun
from solver.programs.problem import ProgramProblem, compute_time
from solver.programs.program import LAUNCH, Program
from solver.programs.recomputation.graph import RecomputedOp
from solver.simulation.times import IterationTimes, times_beside
from solver.wording import memory_size, ms


@dataclass(frozen=True, slots=True)
class Executed:
    """A program of a problem, and how it runs.

    Attributes
    ----------
    problem
        What it is for.
    program, run
        What the host asks for, and how that runs.
    """

    problem: ProgramProblem
    program: Program
    run: ProgramRun

    @property
    def launches(self) -> list[HostSpan]:
        """When each bucket was launched, in the order of the buckets."""
        found = [HostSpan(0.0, 0.0)] * len(self.program.buckets)
        for (do, what), span in zip(self.program.steps, self.run.spans, strict=True):
            if do == LAUNCH:
                found[what] = span
        return found

    @property
    def times(self) -> IterationTimes:
        """The iteration beside its compute alone."""
        busy = sum(span.end - span.start for span in self.launches)
        return times_beside(self.run.iteration_time, compute_time(self.problem.graph), busy)

    @property
    def iteration_time_us(self) -> float:
        """Executed time of the program [us]."""
        return self.run.iteration_time

    @property
    def compute_time_us(self) -> float:
        """Longest path with collectives at 0 [us]."""
        return self.times.compute_time_us

    @property
    def exposed_us(self) -> float:
        """Iteration time - compute time [us]."""
        return self.times.exposed_us

    @property
    def overlap(self) -> float | None:
        """1 - exposed / time of all launches, clipped to 0..1; None when nothing is sent."""
        return self.times.overlap

    @property
    def scaling_factor(self) -> float | None:
        """Compute time / iteration time; None when the iteration takes no time."""
        return self.times.scaling_factor

    @property
    def peak_bytes(self) -> int:
        """The most memory at any instant."""
        return self.run.peak_bytes


@dataclass(frozen=True, slots=True)
class Recomputation:
    """What a program computes twice, so as not to hold it.

    Attributes
    ----------
    problem
        That of the graph as it is given, without the second runs.
    ops
        Those that run twice; empty where that helps nothing.
    peak_without_bytes
        The most memory of the same program without the second runs [bytes].
    """

    problem: ProgramProblem
    ops: tuple[RecomputedOp, ...]
    peak_without_bytes: int

    @property
    def compute_us(self) -> float:
        """Time of all second runs [us]."""
        return sum(op.duration_us for op in self.ops)


@dataclass(frozen=True, slots=True, repr=False)
class ProgramPlan(Executed):
    """A planned program with its evidence.

    Attributes
    ----------
    status
        ``optimal`` when the iteration time equals the lower bound; ``within`` when the best time
        found does, and the program takes at most the tolerance longer; else ``feasible``.
    best_time_us
        The best time that was found; the program may take a tolerance longer, for fewer launches.
    bound
        Why nothing is faster than ``bound.value_us``.
    baselines
        In the order asked for.
    evidence
        On what all of this rests; what cut the search is in it.
    robust
        What the program and its rivals take over draws; None where the stated costs decided.
    recomputation
        What the program computes twice; ``problem`` is then that of the graph with the second runs.
        None where no op was allowed to.
    """

    status: str
    best_time_us: float
    bound: Bound
    baselines: tuple[Baseline, ...]
    evidence: Evidence = NO_EVIDENCE
    robust: Robustness | None = None
    recomputation: Recomputation | None = None

    def __repr__(self) -> str:
        """Say in a line what it is."""
        return (
            f"<ProgramPlan of {self.problem.graph.name!r}: {ms(self.iteration_time_us)}, "
            f"{self.status}, bound {ms(self.lower_bound_us)}, "
            f"{len(self.program.buckets):,} buckets, {memory_size(self.peak_bytes)}>"
        )

    @property
    def lower_bound_us(self) -> float:
        """No program of the graph is faster [us]."""
        return self.bound.value_us

    @property
    def as_given(self) -> ProgramProblem:
        """The problem of the graph as it is given, in which every op runs once."""
        return self.problem if self.recomputation is None else self.recomputation.problem

    @property
    def gap(self) -> float | None:
        """Iteration time / lower bound - 1; None when the bound is 0."""
        bound = self.bound.value_us
        return max(0.0, self.run.iteration_time / bound - 1) if bound else None

    @property
    def cut(self) -> str | None:
        """What ended the search before its moves were done, as the evidence says."""
        return self.evidence.cut


@dataclass(frozen=True, slots=True)
class RoomierPlan:
    """What a higher limit of memory would save.

    Attributes
    ----------
    extra_bytes
        How much higher the limit is.
    iteration_time_us
        What the program takes that is planned with it [us].
    gain_us
        How much less that is [us]; 0 or more, since less memory may be taken than is allowed.
    peak_bytes
        The most memory of that program.
    cut
        What ended the search for it early, as :attr:`ProgramPlan.cut` says.
    """

    extra_bytes: int
    iteration_time_us: float
    gain_us: float
    peak_bytes: int
    cut: str | None = None
