"""XLA's latency-hiding scheduler, as publicly described: a list schedule from the end backwards."""

from collections.abc import Iterator, Mapping, Sequence

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.execute import execute
from solver.programs.policies.in_order import least_order
from solver.programs.policies.tracked_memory import MemoryBackwards, budget_of
from solver.programs.policies.under_way import keep_under_way
from solver.programs.problem import TO_WAIT, ProgramProblem, launch_time
from solver.programs.program import COMPUTE, LAUNCH, PACK, UNPACK, WAIT, HostStep, Program

GIB = 1 << 30


def xla_lhs(
    problem: ProgramProblem,
    *,
    overlap_limit: int = 1,
    more_bytes: int = GIB,
    more_share: float = 0.05,
    shrink: float = 0.9,
    reruns: int = 3,
) -> Program:
    """Return the program of a latency-hiding list schedule, each collective alone.

    A collective is a start, to which its inputs are held, or to its done, and a done. From the end
    of the graph backwards, of what nothing unscheduled needs: above the memory limit what adds
    least; else a start whose latency has passed since its done; else a done, when fewer than
    ``overlap_limit`` of its channel are open; else an op of compute; else the start that stalls
    least. Ties go to the later in the graph. Where the program takes more than the limit, the
    schedule is made again with a smaller one, and the least peak is kept.

    Parameters
    ----------
    overlap_limit
        Collectives of a channel that may be under way at a time.
    more_bytes, more_share
        Memory above the peak of the order of the graph, the larger of the two: the limit, where
        the problem has no lower one.
    shrink, reruns
        Factor of the limit from one try to the next, and how often to try again.

    Notes
    -----
    O(ops * ready ops). Upstream the limit is what the device has.

    References
    ----------
    .. [1] OpenXLA, xla/service/latency_hiding_scheduler.h, ``LatencyHidingScheduler``.
    """
    alone = tuple((i,) for i in problem.graph.collectives)
    return latency_hiding(
        problem,
        alone,
        overlap_limit,
        more=(more_bytes, more_share),
        shrink=shrink,
        reruns=reruns,
    )


def latency_hiding(
    problem: ProgramProblem,
    buckets: tuple[tuple[int, ...], ...],
    overlap_limit: int,
    *,
    is_shared: bool = False,
    more: tuple[int, float] = (GIB, 0.05),
    shrink: float = 0.9,
    reruns: int = 3,
) -> Program:
    """Return the same schedule of collectives in buckets.

    Parameters
    ----------
    buckets
        Positions of the collectives of each, each collective in one of them.
    overlap_limit, is_shared
        Buckets that may be under way at a time, of a channel, or of all channels together, as on
        GPUs, where one resource stands for all collectives.
    more, shrink, reruns
        As of :func:`xla_lhs`.

    References
    ----------
    .. [1] OpenXLA, xla/service/gpu/gpu_hlo_schedule.cc: ``MakeGPUSchedulerConfig``;
           gpu_latency_hiding_scheduler.cc: ``kGpuAsyncStreamCollectives``.
    """
    limit, _ = budget_of(problem, least_order(problem), {}, lambda i: (i,), more)
    tries: list[tuple[int, Program]] = []
    for again in range(reruns + 1):
        tried = limit * shrink**again
        program = _schedule(problem, buckets, overlap_limit, tried, is_shared=is_shared)
        program = keep_under_way(problem, program)
        tries.append((execute(problem, program).peak_bytes, program))
        if tries[-1][0] <= limit:
            break
    return min(tries, key=lambda tried: tried[0])[1]


def _schedule(  # noqa: C901 - one loop
    problem: ProgramProblem,
    buckets: tuple[tuple[int, ...], ...],
    overlap_limit: int,
    limit: float,
    *,
    is_shared: bool,
) -> Program:
    """Schedule once, backwards.

    A bucket goes by its first member; dones are numbered after the ops.
    """
    graph = problem.graph
    n = len(graph.ops)
    is_op = [op.kind == COMPUTE_KIND for op in graph.ops]
    home = {i: members[0] for members in buckets for i in members}
    numbers = {members[0]: b for b, members in enumerate(buckets)}

    def members_of(i: int) -> tuple[int, ...]:
        return (i,) if is_op[i] else buckets[numbers[i]]

    items = [i for i in range(n) if home.get(i, i) == i]
    preds = {
        i: tuple(dict.fromkeys(home.get(j, j) for k in members_of(i) for j in graph.preds[k]))
        for i in items
    }
    at = {i: place for place, i in enumerate(least_order(problem))}
    place = {i: max(at[k] for k in members_of(i)) for i in items}
    latency = {
        i: graph.durations[i] if is_op[i] else launch_time(problem, members_of(i)) for i in items
    }
    lane = {i: "" if is_shared else graph.ops[i].channel for i in items}
    memory = MemoryBackwards(graph)
    is_held_to_done = problem.inputs_held == TO_WAIT
    left = dict.fromkeys(items, 0)
    for needed in preds.values():
        for j in needed:
            left[j] += 1
    ready = {(i if is_op[i] else n + i): 0.0 for i in items if not left[i]}
    opened = dict.fromkeys(lane.values(), 0)
    now, order = 0.0, []

    def score(i: int) -> tuple[float, ...]:
        is_above = memory.level > limit
        if i >= n:
            held = members_of(i - n) if is_above and is_held_to_done else ()
            return sum(memory.inputs(k) for k in held), 1, 0.0, -place[i - n]
        grown = sum(memory.growth(k) for k in members_of(i)) if is_above else 0
        if is_op[i]:
            return grown, 2, 0.0, -place[i]
        return (grown, 0, 0.0, -place[i]) if ready[i] <= now else (grown, 3, ready[i], -place[i])

    while ready:
        free = (i for i in ready if i < n or opened[lane[i - n]] < overlap_limit)
        i = min(free, key=score)
        since = ready.pop(i)
        order.append(i)
        if i >= n:
            opened[lane[i - n]] += 1
            for k in members_of(i - n) if is_held_to_done else ():
                memory.hold(k)
            ready[i - n] = now + latency[i - n]
            continue
        if is_op[i]:
            now += latency[i]
        else:
            now = max(now, since)
            opened[lane[i]] -= 1
        for k in members_of(i):
            memory.schedule(k)
        for j in preds[i]:
            left[j] -= 1
            if not left[j]:
                ready[j if is_op[j] else n + j] = now
    return Program(buckets, tuple(_steps(order, buckets, numbers, n)))


def _steps(
    order: Sequence[int],
    buckets: Sequence[tuple[int, ...]],
    numbers: Mapping[int, int],
    ops: int,
) -> Iterator[HostStep]:
    """Yield the steps of a schedule that was made from the end, with copies of several."""
    for i in reversed(order):
        b = numbers.get(i % ops)
        if b is None:
            yield HostStep(COMPUTE, i)
            continue
        copied = len(buckets[b]) > 1
        if i >= ops:
            yield HostStep(WAIT, b)
            if copied:
                yield HostStep(UNPACK, b)
        else:
            if copied:
                yield HostStep(PACK, b)
            yield HostStep(LAUNCH, b)
