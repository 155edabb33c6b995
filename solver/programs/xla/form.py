"""What XLA makes of a program, given its flags; and the flags that come nearest to a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER
from solver.programs.execute import ProgramRun, execute
from solver.programs.policies.xla_lhs import latency_hiding
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.xla.combiner import combined, output_bytes

#: Kinds that XLA combines, with the names in its flags.
COMBINED = {
    ALL_GATHER: "all_gather",
    REDUCE_SCATTER: "reduce_scatter",
    ALL_REDUCE: "all_reduce",
}
#: How many collectives may be under way at a time, on all channels together: what is tried.
OVERLAPS = (1, 2, 4)
#: The thresholds of XLA where nothing is said (xla/service/collective_utils.h).
DEFAULT_THRESHOLD = 30 * 2**20 + 7
#: Sizes that are tried for each kind, besides none, and how often all are gone through, at most.
_SIZES, _ROUNDS = 3, 3


@dataclass(frozen=True, slots=True)
class XlaFlags:
    """What XLA is told.

    Attributes
    ----------
    thresholds
        By kind the most bytes that a combined collective writes; 0 combines none.
    overlap
        Collectives that may be under way at a time.
    """

    thresholds: tuple[tuple[str, int], ...]
    overlap: int = 1

    def threshold(self, kind: str, size: int) -> "XlaFlags":
        """Return the same with another threshold."""
        return replace(self, thresholds=tuple((dict(self.thresholds) | {kind: size}).items()))


@dataclass(frozen=True, slots=True, eq=False)
class XlaForm:
    """A program as XLA runs it: its flags, what they make of the graph, and how that runs."""

    flags: XlaFlags
    program: Program
    run: ProgramRun

    def rank(self, limit: int | None) -> tuple[int, float, int, int, tuple[int, ...]]:
        """Memory above the limit, time, memory, overlap, bytes: less is better."""
        above = 0 if limit is None else max(0, self.run.peak_bytes - limit)
        sizes = tuple(size for _, size in self.flags.thresholds)
        return above, self.run.iteration_time, self.run.peak_bytes, self.flags.overlap, sizes


def form_of(problem: ProgramProblem, flags: XlaFlags) -> XlaForm:
    """Simulate what XLA makes of a graph: collectives combined, then scheduled.

    The combiners come to the collectives in the order of the graph, and the latency-hiding
    scheduler orders what is left with the costs of the problem, which it is given as a file. What
    was simulated before is known to the problem.
    """
    known: dict[object, tuple[Program, ProgramRun]] = problem.memo.setdefault("xla forms", {})
    order = [i for i in problem.graph.order if i in set(problem.graph.collectives)]
    buckets = combined(problem, order, dict(flags.thresholds))
    key = buckets, flags.overlap
    if key not in known:
        program = latency_hiding(problem, buckets, flags.overlap, is_shared=True)
        known[key] = program, execute(problem, program)
    return XlaForm(flags, *known[key])


def fastest_form(problem: ProgramProblem, program: Program) -> XlaForm:
    """Choose flags: thresholds among the sizes of a program's buckets, and the overlap.

    Tried are none, XLA's own, and of each kind the least, the median and the largest bucket of
    several, a flag after the other, from the best of all least, all largest and XLA's own; the
    least simulated time within the memory limit wins, then the least memory.

    Notes
    -----
    At most three rounds of one schedule for each flag and value.
    """
    limit = problem.limits.memory_bytes
    sizes = sizes_of(problem, program)
    starts = ({kind: own[place] for kind, own in sizes.items()} for place in (0, -1))
    begun = [form_of(problem, XlaFlags(tuple(each.items()))) for each in starts]
    best = min([default_form(problem), *begun], key=lambda each: each.rank(limit))
    for _ in range(_ROUNDS):
        before = best
        for kind, own in sizes.items():
            tried = (form_of(problem, best.flags.threshold(kind, size)) for size in own)
            best = min([best, *tried], key=lambda each: each.rank(limit))
        tried = (form_of(problem, replace(best.flags, overlap=most)) for most in OVERLAPS)
        best = min([best, *tried], key=lambda each: each.rank(limit))
        if best is before:
            break
    return best


def sizes_of(problem: ProgramProblem, program: Program) -> Mapping[str, list[int]]:
    """Return the thresholds that are tried, by kind, ascending from 0: XLA's own is among them."""
    graph = problem.graph
    written: dict[str, list[int]] = {
        kind: [] for kind in COMBINED if any(graph.ops[i].kind == kind for i in graph.collectives)
    }
    for members in program.buckets:
        kind = graph.ops[members[0]].kind
        if len(members) > 1 and kind in written:
            written[kind].append(sum(output_bytes(problem, i) for i in members))
    found = {}
    for kind, own in written.items():
        every = sorted(dict.fromkeys(own))
        last = len(every) - 1
        places = sorted({0, last // 2, last}) if every else []
        tried = {0, DEFAULT_THRESHOLD, *(every[place] for place in places[:_SIZES])}
        found[kind] = sorted(tried)
    return found


def default_form(problem: ProgramProblem) -> XlaForm:
    """Simulate what XLA makes of a graph where it is told nothing but to hide latencies."""
    kinds = {problem.graph.ops[i].kind for i in problem.graph.collectives}
    own = tuple((kind, DEFAULT_THRESHOLD) for kind in COMBINED if kind in kinds)
    return form_of(problem, XlaFlags(own))
