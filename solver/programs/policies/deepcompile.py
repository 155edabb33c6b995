"""DeepCompile's prefetch: gathers launched as early as the memory allows, fused on the way."""

from collections.abc import Iterator, Mapping, Sequence

from solver.graph import ALL_GATHER
from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.policies.in_order import least_order
from solver.programs.policies.parameter_buckets import parameter_collectives, with_the_rest
from solver.programs.policies.pulled_order import pulled_order
from solver.programs.policies.tracked_memory import TrackedMemory, budget_of
from solver.programs.problem import ProgramProblem, is_fusable, lane_of, launch_time
from solver.programs.program import COMPUTE, LAUNCH, WAIT, Program, with_waits

GIB = 1 << 30


def deepcompile(
    problem: ProgramProblem,
    *,
    fuse_bytes: int = 1_000_000_000,
    buffered_bytes: int = 4_000_000_000,
    reduced_bytes: int = 1_000_000_000,
    longer: float = 1.2,
    more_bytes: int = GIB,
    more_share: float = 0.05,
) -> Program:
    """Return the program of DeepCompile's proactive prefetching.

    From the end of the graph backwards each gather of parameters is put into a group, with the one
    taken before it where the two together take less than ``longer`` times the longer one. The
    groups move on towards the start; the one taken first is launched where the memory of the order
    and of all groups on their way would exceed the limit, or these ``buffered_bytes``. Scatters are
    launched where they stand, and the oldest waited for where the buffers of reductions are full;
    everything else keeps the order of the graph.

    Parameters
    ----------
    fuse_bytes, buffered_bytes
        Bytes of a group, and of all groups on their way, at most.
    reduced_bytes
        Bytes of scatters not waited for, at most: a ``reduce_bucket_size`` of 5e8 elements.
    longer
        What a fused launch may take at most, in times of the longer of its two halves.
    more_bytes, more_share
        Memory above the peak of the order of the graph, the larger of the two: the limit, where the
        problem has no lower one. Upstream it is nine tenths of what the device has.

    Notes
    -----
    Selective unsharding and offloading are not part of it. O(ops + edges).

    References
    ----------
    .. [1] DeepSpeed, blogs/deepcompile/README.md, "Proactive prefetching", and
           deepspeed/compile/passes/prefetch.py, whose constants are the defaults.
    """
    graph = problem.graph
    order = least_order(problem)
    limit, _ = budget_of(problem, order, {}, lambda i: (i,), (more_bytes, more_share))
    memory = TrackedMemory(graph)
    levels = []
    for i in order:
        memory.schedule(i)
        levels.append(memory.level)
    sent = parameter_collectives(problem)
    gathers = {i for i in sent if graph.ops[i].kind == ALL_GATHER}
    groups: list[list[int]] = []
    open_: list[int] = []
    held = 0
    backwards: list[int | tuple[int, ...]] = []

    def fuses(i: int) -> bool:
        if lane_of(graph, i) != lane_of(graph, open_[0]) or not is_fusable(problem, [*open_, i]):
            return False
        apart = max(launch_time(problem, open_), launch_time(problem, [i]))
        fused = [*open_, i]
        return (
            longer * apart > launch_time(problem, fused)
            and sum(graph.ops[k].bytes or 0 for k in fused) < fuse_bytes
        )

    for at in range(len(order) - 1, -1, -1):
        i = order[at]
        before = levels[at - 1] if at else 0
        while (groups or open_) and (before + held > limit or held > buffered_bytes):
            if not groups:
                groups, open_ = [open_], []
            group = groups.pop(0)
            held -= sum(graph.ops[k].bytes or 0 for k in group)
            backwards.append(tuple(group))
        if i not in gathers:
            backwards.append(i)
            continue
        if open_ and not fuses(i):
            groups.append(open_)
            open_ = []
        open_.append(i)
        held += graph.ops[i].bytes or 0
    backwards += [tuple(group) for group in (*groups, *([open_] if open_ else []))]
    fused = [tuple(sorted(each)) for each in backwards if isinstance(each, tuple)]
    place = {i: k for k, i in enumerate(order)}
    buckets = with_the_rest(problem, [sorted(each, key=place.__getitem__) for each in fused])
    bucket_of = {i: b for b, members in enumerate(buckets) for i in members}
    wanted: list[tuple[str, int]] = []
    for each in reversed(backwards):
        i = each[0] if isinstance(each, tuple) else each
        is_op = graph.ops[i].kind == COMPUTE_KIND
        wanted.append((COMPUTE, i) if is_op else (LAUNCH, bucket_of[i]))
    scatters = {bucket_of[i]: graph.ops[i].bytes or 0 for i in sent if i not in gathers}
    asked = _waited(pulled_order(problem, buckets, wanted), scatters, reduced_bytes)
    return with_waits(problem, buckets, asked)


def _waited(
    order: Sequence[tuple[str, int]], sizes: Mapping[int, int], most: int
) -> Iterator[tuple[str, int]]:
    """Yield an order that waits for the oldest of some launches beyond so many bytes."""
    under_way: list[int] = []
    for do, what in order:
        yield do, what
        if do == LAUNCH and what in sizes:
            under_way.append(what)
            while len(under_way) > 1 and sum(sizes[b] for b in under_way) > most:
                yield WAIT, under_way.pop(0)
