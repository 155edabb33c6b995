"""What a planned program is: frozen data, with its evidence. Unknown is None."""

from dataclasses import dataclass

from solver.evidence.evidence import NO_EVIDENCE, Evidence
from solver.programs.execute import ProgramRun
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program


@dataclass(frozen=True, slots=True)
class ProgramBound:
    """The proven lower bound over all orders of compute, launches and buckets.

    Attributes
    ----------
    kind
        ``path``, ``load`` or ``overlap`` of :data:`solver.bounds.kinds.BOUND_KINDS`.
    value_us
        No program of the graph is faster [us].
    ops
        Ids of what attains it.
    release_us, tail_us
        What comes before and after them [us]; None where that says nothing.
    """

    kind: str
    value_us: float
    ops: tuple[str, ...] = ()
    release_us: float | None = None
    tail_us: float | None = None


@dataclass(frozen=True, slots=True)
class ProgramBaseline:
    """What a rule of today makes of the problem.

    ``iteration_time_us`` and ``peak_bytes`` are None where it makes no program; it may take more
    memory than the limit.
    """

    policy: str
    iteration_time_us: float | None
    peak_bytes: int | None


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


@dataclass(frozen=True, slots=True)
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
    """

    status: str
    best_time_us: float
    bound: ProgramBound
    baselines: tuple[ProgramBaseline, ...]
    evidence: Evidence = NO_EVIDENCE

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
