"""XLA: thresholds of its combiners, which make one collective of several on GPUs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from solver.exports.explicit_plan import Export
from solver.exports.programs.combiner import MOST_MEMBERS, combined, output_bytes
from solver.exports.programs.demand import Item, in_order_of_demand
from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER
from solver.programs.execute import ProgramRun, execute
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, Program

FORMAT = "xla"

#: Kinds that XLA combines, with the names in its flags.
_NAMES = {
    ALL_GATHER: "all_gather",
    REDUCE_SCATTER: "reduce_scatter",
    ALL_REDUCE: "all_reduce",
}

#: How often the thresholds are gone through, at most.
_ROUNDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Combining:
    """Thresholds by kind, and what they make of a program."""

    thresholds: Mapping[str, int]
    program: Program
    run: ProgramRun

    def rank(self, limit: int | None) -> tuple[int, float, int, tuple[int, ...]]:
        """Memory above the limit, time, memory, bytes: less is better."""
        above = 0 if limit is None else max(0, self.run.peak_bytes - limit)
        sizes = tuple(self.thresholds.values())
        return above, self.run.iteration_time, self.run.peak_bytes, sizes


def export(problem: ProgramProblem, program: Program) -> Export:
    """Write ``xla.env``: ``XLA_FLAGS`` with a threshold for each kind that the graph has.

    Tried are the sizes of the plan's buckets and none at all, a kind after the other, until none is
    better; the least simulated time within the memory limit wins, then the least memory. Simulated
    are the buckets that the combiners form, going through the plan's launches in their order, and
    the plan's order of compute, in which each bucket is launched where its last collective was, or
    is needed.
    """
    planned = execute(problem, program)
    best = best_thresholds(problem, program)
    flags = " ".join(
        f"--xla_gpu_{_NAMES[kind]}_combine_threshold_bytes={most}"
        for kind, most in best.thresholds.items()
    )
    return Export(
        format=FORMAT,
        files={"xla.env": f'XLA_FLAGS="{flags}"\n'},
        media_type="text/plain",
        notes=tuple(_notes(problem, program, planned, best)),
        iteration_time_us=best.run.iteration_time,
        plan_time_us=planned.iteration_time,
    )


def best_thresholds(problem: ProgramProblem, program: Program) -> Combining:
    """Choose thresholds, of the sizes of a program's buckets, one kind after the other.

    Notes
    -----
    At most three rounds of one simulation for each kind and distinct size.
    """
    graph, limit = problem.graph, problem.limits.memory_bytes
    sizes: dict[str, set[int]] = {
        kind: {0} for kind in _NAMES if any(graph.ops[i].kind == kind for i in graph.collectives)
    }
    for members in program.buckets:
        kind = graph.ops[members[0]].kind
        if len(members) > 1 and kind in sizes:
            sizes[kind].add(sum(output_bytes(problem, i) for i in members))
    known: dict[tuple[tuple[int, ...], ...], Combining] = {}
    best = combine(problem, program, {kind: max(own) for kind, own in sizes.items()}, known)
    for _ in range(_ROUNDS):
        before = best
        for kind, own in sizes.items():
            tried = (
                combine(problem, program, {**best.thresholds, kind: size}, known)
                for size in sorted(own)
            )
            best = min([best, *tried], key=lambda each: each.rank(limit))
        if best is before:
            break
    return best


def combine(
    problem: ProgramProblem,
    program: Program,
    thresholds: Mapping[str, int],
    known: dict[tuple[tuple[int, ...], ...], Combining] | None = None,
) -> Combining:
    """Simulate a program with the buckets that XLA's combiners make of it.

    Parameters
    ----------
    known
        What was simulated before, by its buckets; it grows.
    """
    known = {} if known is None else known
    order = [i for do, b in program.steps if do == LAUNCH for i in program.buckets[b]]
    buckets = combined(problem, order, thresholds)
    if buckets in known:
        return replace(known[buckets], thresholds=thresholds)
    home = {i: b for b, members in enumerate(buckets) for i in members}
    left = [len(members) for members in buckets]
    wanted: list[Item] = []
    for do, what in program.steps:
        if do == COMPUTE:
            wanted.append((do, what))
        for i in program.buckets[what] if do == LAUNCH else ():
            left[home[i]] -= 1
            if not left[home[i]]:
                wanted.append((LAUNCH, home[i]))
    written = in_order_of_demand(problem, buckets, wanted)
    known[buckets] = Combining(thresholds, written, execute(problem, written))
    return known[buckets]


def _notes(
    problem: ProgramProblem, program: Program, planned: ProgramRun, form: Combining
) -> Iterator[str]:
    graph = problem.graph
    extra = form.run.iteration_time - planned.iteration_time
    cost = f"{extra:,.1f} us longer than the plan" if extra > 0 else "no longer than the plan"
    yield (
        f"The plan's {len(program.buckets)} launches are {len(form.program.buckets)} of XLA, each "
        f"of at most {MOST_MEMBERS} collectives: its combiners go by size alone. That takes {cost}."
    )
    yield (
        f"Memory is {form.run.peak_bytes:,} bytes at most, the plan's {planned.peak_bytes:,}; "
        "the flags limit neither memory nor bytes under way."
    )
    limit = problem.limits.memory_bytes
    if limit is not None and form.run.peak_bytes > limit:
        yield f"That is more than the limit of {limit:,} bytes: no thresholds tried keep it."
    yield (
        "Simulated is the plan's order of compute. XLA's latency-hiding scheduler chooses its own, "
        "from costs of its own."
    )
    if any(len(members) > 1 for members in form.program.buckets):
        free = execute(replace(problem, copy_gbps=None), form.program).iteration_time
        yield (
            "Copies into and out of buckets are counted as in the plan; where XLA sends the "
            f"tensors of a bucket from where they are, it takes {free:,.1f} us."
        )
    if REDUCE_SCATTER in form.thresholds:
        yield "XLA counts what a collective writes: of a reduce-scatter the bytes of one rank."
    others = [i for i in graph.collectives if graph.ops[i].kind not in _NAMES]
    if others:
        yield f"{len(others)} collectives of other kinds have no threshold here and go alone."
